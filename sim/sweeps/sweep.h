// Every point of an experiment's "sweep": JSON pointers and the values to try.
//
// Points are numbered in row-major order: the last key varies fastest; keys whose values are
// {"zip": [...]} advance together, in the place of the first of them.
#pragma once
#include "sim/config/config.h"
#include "sim/sweeps/values.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// The values of the keys that advance together.
struct Axis {
  std::vector<std::string> pointers;
  /// values[i][k]: of the k-th pointer at the i-th place of the axis.
  std::vector<std::vector<SweptValue>> values;
  /// texts[i]: "pointer":value of every pointer at the i-th place, as in a JSONL row.
  std::vector<std::string> texts;
};

class Sweep {
 public:
  /// A config without "sweep" has one point. Throws InputError for a malformed sweep.
  explicit Sweep(std::shared_ptr<const Document> document);

  std::int64_t points() const { return points_; }
  const std::vector<Axis>& axes() const { return axes_; }
  /// The swept pointers, in order.
  std::vector<std::string> pointers() const;
  /// `places` becomes the place of a point on every axis.
  void find(std::int64_t point, std::vector<std::size_t>& places) const;
  /// The value of every pointer at a point.
  std::vector<SweptValue> values(std::int64_t point) const;
  /// The same as a row has them.
  std::vector<Json> params(std::int64_t point) const;
  /// These as the inside of a JSON object.
  void append_params(std::string& text, std::int64_t point) const;
  const Document& document() const { return *document_; }

 private:
  std::shared_ptr<const Document> document_;
  std::vector<Axis> axes_;
  std::int64_t points_ = 1;
};

}  // namespace steptime
