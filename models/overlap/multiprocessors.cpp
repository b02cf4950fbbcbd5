// A collective's blocks of threads keep multiprocessors busy, which the kernels beside it lack: of
// S multiprocessors C are gone, so that work takes S / (S - C) times as long.
//
// Scope: kernels that fill the GPU many times over and are bound by its arithmetic. One that fills
// it just once takes two rounds instead, up to twice as long; one bound by memory feels the
// collective's traffic rather than its blocks. Collectives that do not say how many blocks they
// have (all but `nccl`), and GPUs whose file does not say how many multiprocessors they have, cost
// nothing. The collective itself is not slowed down.
// Parameters: blocks, multiprocessors [1] instead of what collective and device say.
// Validation: tests/models/overlap/multiprocessors_test.cpp.
// Source: NCCL takes a multiprocessor for each of its channels, two at least (its maintainer in
// NVIDIA/nccl issue 689). That kernels slow down in proportion is the simplest assumption, not a
// measurement.
#include "sim/workload/overlap.h"

#include <memory>
#include <optional>
#include <string>

namespace steptime {
namespace {

constexpr double kMostCount = 1e4;
const Params kParams{{.key = "blocks",
                      .kind = Kind::kInteger,
                      .help = "of threads, of a collective; default: as the collective says",
                      .need = Need::kOptional,
                      .range = {.low = 0, .high = kMostCount}},
                     {.key = "multiprocessors",
                      .kind = Kind::kInteger,
                      .help = "of the GPU; default: as the device's file says",
                      .need = Need::kOptional,
                      .range = {.low = 2, .high = kMostCount}}};

class Multiprocessors final : public Overlap {
 public:
  using Count = std::optional<std::int64_t>;
  Multiprocessors(Count blocks, Count multiprocessors)
      : blocks_(blocks), multiprocessors_(multiprocessors) {}

  Slowdown beside(const Pair& collective, Bytes m, Count multiprocessors) const override {
    return {.compute = compute(collective.alone, m, multiprocessors),
            .collective = collective.ratio(m)};
  }
  std::string outside_domain() const override {
    return blocks_ || multiprocessors_ ? "what overlap costs is the experiment's own" : "";
  }

 private:
  double compute(const Collective& collective, Bytes m, Count multiprocessors) const {
    const Count all = multiprocessors_ ? multiprocessors_ : multiprocessors;
    if (!all) return 1;
    // Kernels of a framework leave no multiprocessor out, so that one is always theirs.
    const std::int64_t blocks = std::min(blocks_.value_or(collective.thread_blocks(m)), *all - 1);
    if (blocks == 0) return 1;
    return static_cast<double>(*all) / static_cast<double>(*all - blocks);
  }

  Count blocks_;
  Count multiprocessors_;
};

Multiprocessors::Count count(const Config& config, const char* key) {
  if (!config.has(key)) return std::nullopt;
  return config.get<std::int64_t>(key);
}

const bool kRegistered = Overlaps::instance().add(
    "multiprocessors", "kernels lack the multiprocessors that a collective's blocks keep busy",
    kParams, [](const Config& config) {
      return std::make_unique<Multiprocessors>(count(config, "blocks"),
                                               count(config, "multiprocessors"));
    });

}  // namespace
}  // namespace steptime
