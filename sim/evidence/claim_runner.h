// The simulations behind the claims of one experiment: its figures with some values set, ratios and
// orderings of them.
#pragma once
#include "sim/config/config.h"
#include "sim/core/limits.h"
#include "sim/evidence/collective_record.h"
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
  /// The step behind a claim, predicted before anything was fitted on its testbed.
  struct Step {
    Prediction prediction;
    std::string model;     ///< name of the model that is trained
    double simulated = 0;  ///< what the claim's "measure" gives
  };
  /// With what "by_name" sets in the "claims" section, then in the claim: with the measured compute
  /// time where that leaves one, and with "by_device", too. Empty unless the claim is an equality
  /// about the time or speed of a step by itself, or about its speed over that of one worker.
  /// Throws InputError.
  std::vector<Step> steps(const Config& claims, const Config& claim) const;
  /// The measured table behind a claim, in two classes of sizes; empty where it has none. Throws
  /// InputError.
  std::vector<CollectiveTable> tables(const Config& claim) const;
  /// The rows of a "map". Throws InputError.
  std::vector<SizeMap::Row> map(const Config& map) const;

 private:
  /// JSON pointers and their values, from a measure, an order or a claim's alternatives.
  using Sets = std::initializer_list<Config>;
  /// The experiment with the values of all `sets` in turn.
  std::shared_ptr<const Document> with(Sets sets) const;
  /// The same with the values of `names` on top, of which null leaves a key out.
  std::shared_ptr<const Document> before_fitting(Sets sets,
                                                 std::initializer_list<Config> names) const;
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
