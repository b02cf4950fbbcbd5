// Traces of PyTorch's profiler (Kineto), plain or gzip, one file for each rank.
//
// Format and rules: models/importers/trace_events.h, kineto_profile.h. Read as a stream: memory
// does not grow with the file. Scope: one step is what lies between two ProfilerStep marks; a trace
// without marks is one step. Collectives are NCCL's kernels, with the sizes of the annotation
// around their launch. Parameters: layers: "each", or "whole" where the trace cannot tell them
// apart; steps: which of them. A step with other layers than most is left out, and said. The
// optimizer is a layer of its own, the first of the forward pass. Limits: the trace's device times
// stand beside its host times, but a run takes the device's alone; copies, collectives and the
// host's share stand under "measured". Parameters have no names in a trace: a tensor is named by
// its layer and shape, or as in a layer table, which is held against the shapes, and takes their
// place where there are none.
#include "models/importers/byte_stream.h"
#include "models/importers/kineto_profile.h"
#include "models/importers/kineto_records.h"
#include "models/importers/kineto_steps.h"
#include "models/importers/kineto_trace.h"
#include "sim/core/error.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{
    {.key = "layers",
     .kind = Kind::kText,
     .help = "each, or whole: the step as one layer",
     .need = Need::kDefault,
     .fallback = "each",
     .words = {"each", "whole"}},
    {.key = "steps",
     .kind = Kind::kText,
     .help = "numbers of the ProfilerSteps to take, as 7, 5-8 or 5-6,9; default: all",
     .need = Need::kOptional}};

class Kineto final : public Importer {
 public:
  explicit Kineto(const Config& c) : whole_(c.get<std::string>("layers") == "whole") {
    if (c.has("steps")) steps_ = c.get<std::string>("steps");
  }

  bool streams() const override { return true; }

  Imported import(const ImportRequest& request) const override {
    std::vector<KinetoProfile> ranks;
    if (request.paths.empty()) {
      ranks.push_back(profile_of(read_kineto_records(
          [&] { return std::make_unique<ByteStream>(request.file, request.text); })));
    }
    for (const std::string& path : request.paths)
      ranks.push_back(profile_of(read_kineto_records([&] { return open(request, path); })));
    std::stable_sort(ranks.begin(), ranks.end(),
                     [](const auto& a, const auto& b) { return a.header.rank < b.header.rank; });
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      if (ranks[i].header.rank == ranks[i - 1].header.rank) {
        throw InputError(
            fmt::format("{}: /distributedInfo/rank: {}, as in {}: expected a file for "
                        "each rank",
                        ranks[i].file, ranks[i].header.rank, ranks[i - 1].file));
      }
    }
    if (steps_) choose_steps(ranks, *steps_);
    check_trains(ranks);
    std::vector<std::string> missing;
    if (!whole_) missing = leave_odd_steps_out(ranks);
    return trace_of(request, ranks, whole_, std::move(missing));
  }

 private:
  static std::unique_ptr<ByteStream> open(const ImportRequest& request, const std::string& path) {
    const auto place = std::find(request.paths.begin(), request.paths.end(), path);
    const auto before = static_cast<double>(place - request.paths.begin());
    const auto count = static_cast<double>(request.paths.size());
    OnProgress progress;
    if (request.on_progress) {
      progress = [listen = request.on_progress, before, count](double share) {
        listen((before + share) / count);
      };
    }
    return std::make_unique<ByteStream>(path, std::move(progress));
  }

  bool whole_;
  std::optional<std::string> steps_;
};

const bool kRegistered =
    Importers::instance().add("kineto", "traces of PyTorch's profiler, a file for each rank",
                              kParams, [](const Config& c) { return std::make_unique<Kineto>(c); });

}  // namespace
}  // namespace steptime
