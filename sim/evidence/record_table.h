// What published steps say of predictions made before fitting: for people, by kind.
#pragma once
#include "sim/evidence/claims.h"

#include <span>
#include <string>

namespace steptime {

/// A published step beside the interval that rows of other testbeds give its prediction.
struct AssessedStep {
  RecordedStep step;
  Assessment by_others;

  bool is_within() const;
  double width() const;  ///< width of the interval, over the prediction
};

/// Each by the steps of all testbeds but its own.
std::vector<AssessedStep> assessed(std::span<const RecordedStep> steps);

/// How many lie within their interval and how wide these are, of those that are validated and of
/// all: by who adds up, one node or several, how the compute time is known, and testbed. Below,
/// what differing in an attribute costs, the validated ones that are more than 20 % off, and the
/// sums, in which a step counts once, by its first prediction.
std::string record_table(std::span<const RecordedStep> steps);

/// The same of steps of layouts: by device, type of products, stack, what they are cut by,
/// testbed and group; below, the sums, what differing costs, and every row that is more than 20 %
/// off, with whether its own domain says that it may be.
std::string layout_record_table(std::span<const RecordedStep> steps);

}  // namespace steptime
