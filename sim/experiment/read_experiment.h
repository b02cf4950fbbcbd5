// From a config to an experiment: a pure function of the config and the files that it names.
#pragma once
#include "sim/config/config.h"
#include "sim/experiment/experiment.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace steptime {

/// The sections of an experiment and the parts that are built from them. A part depends on the
/// sections that `sections` lists, and on nothing else.
enum class Part {
  kWorkload,
  kNetwork,
  kCluster,
  kTransport,
  kCollective,
  kSchedule,
  kCutModel,
  kLayout,
  kRun,
  kJobs
};
/// In the order in which they are built.
inline constexpr Part kParts[] = {
    Part::kWorkload, Part::kNetwork,  Part::kCluster, Part::kTransport, Part::kCollective,
    Part::kSchedule, Part::kCutModel, Part::kLayout,  Part::kRun,       Part::kJobs};
/// JSON pointers of the subtrees that a part is built from.
std::span<const std::string_view> sections(Part part);
/// Whether a part may change with the value at the JSON pointer. `is_cut`: of experiments that all
/// have a layout.
bool depends_on(Part part, std::string_view pointer, bool is_cut = false);

/// The aggregation of an experiment, whose `config` it is: its collectives are those of the
/// transport's backend, or work through it. Throws InputError.
std::unique_ptr<Aggregation> read_aggregation(const Config& config, const Transport& transport,
                                              const Cluster& cluster);

/// Reads and checks an experiment. Throws InputError.
Experiment read_experiment(const std::shared_ptr<const Document>& document);
/// Builds one part anew; kCluster needs that of kNetwork, kCollective those of kCluster and
/// kTransport, kCutModel that of kWorkload, and kLayout all before it.
void read_part(const std::shared_ptr<const Document>& document, Part part, Experiment& experiment);
/// Takes one part of another experiment. No two parts have a member in common.
void take_part(Part part, const Experiment& from, Experiment& to);

/// The experiment's name, which also names its output files. Throws InputError.
std::string read_name(const Config& config);

/// A stated config with every default written out.
Json resolved(const Json& stated);

}  // namespace steptime
