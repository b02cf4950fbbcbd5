// The simulations behind the claims of one experiment: its figures with some values set, ratios and
// orderings of them.
#pragma once
#include "sim/config/config.h"
#include "sim/core/limits.h"
#include "sim/evidence/size_map.h"
#include "sim/experiment/result.h"

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

class ClaimRunner {
 public:
  /// `learns`: also runs what learns; else its figures are 1. Throws InputError.
  ClaimRunner(const std::string& path, const OnProgress& on_progress, bool learns);

  const std::shared_ptr<const Document>& document() const { return base_; }
  /// What a claim's "measure" or "order" asks for, with the values of `more` set on top. Throws
  /// InputError.
  Json simulated(const Config& claim, const Config& more) const;
  /// The step behind a claim, where this is an equality about the time or speed of a step by
  /// itself, or about its speed over that of one worker; else none. Throws InputError.
  struct Step {
    Prediction prediction;
    std::string model;  ///< that is trained
  };
  std::optional<Step> step(const Config& claim) const;
  /// The rows of a "map". Throws InputError.
  std::vector<SizeMap::Row> map(const Config& map) const;

 private:
  /// JSON pointers and their values, from a measure, an order or a claim's alternatives.
  using Sets = std::initializer_list<Config>;
  /// The experiment with the values of all `sets` in turn.
  std::shared_ptr<const Document> with(Sets sets) const;
  /// The run of `owner` with these values.
  const Result& run(const Config& owner, Sets sets) const;
  /// The figure of a run under `owner`'s "value".
  double value(const Config& owner, Sets sets) const;
  /// A figure of one collective of the experiment.
  double collective(const Config& measure, Sets sets) const;
  double measure(const Config& measure, const Config& more) const;
  /// "A < B < C" by the figure, "=" between equal ones; or the label at one end of it.
  std::string order(const Config& order, const Config& more) const;

  std::shared_ptr<const Document> base_;
  OnProgress on_progress_;
  bool learns_;
  mutable std::map<std::string, Result> simulated_;  ///< by config: claims share runs
};

}  // namespace steptime
