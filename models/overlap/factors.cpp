// Factors that were measured.
//
// Scope: every collective alike, whatever its size.
// Parameters: compute, collective [1]. Validation: tests/models/overlap/factors_test.cpp (the
// mechanism). Source of values: kernels beside collectives took 18.9 % longer on average and 40 %
// at most (A100, H100, MI210, MI250; GPT and LLaMA: arXiv 2507.03114).
#include "sim/workload/overlap.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "compute",
                      .kind = Kind::kNumber,
                      .help = "how many times as long a kernel takes beside a collective",
                      .need = Need::kDefault,
                      .fallback = 1,
                      .range = {.low = 1, .high = 100}},
                     {.key = "collective",
                      .kind = Kind::kNumber,
                      .help = "how many times as long a collective takes beside kernels",
                      .need = Need::kDefault,
                      .fallback = 1,
                      .range = {.low = 1, .high = 100}}};

class Factors final : public Overlap {
 public:
  explicit Factors(Slowdown slowdown) : slowdown_(slowdown) {}
  Slowdown beside(const Pair& collective, Bytes m, std::optional<std::int64_t>) const override {
    return {.compute = slowdown_.compute, .collective = slowdown_.collective * collective.ratio(m)};
  }

  std::string outside_domain() const override {
    return slowdown_.any() ? "what overlap costs is the experiment's own" : "";
  }

 private:
  Slowdown slowdown_;
};

const bool kRegistered = Overlaps::instance().add(
    "factors", "measured: how many times as long each takes beside the other", kParams,
    [](const Config& config) {
      return std::make_unique<Factors>(Slowdown{.compute = config.get<double>("compute"),
                                                .collective = config.get<double>("collective")});
    });

}  // namespace
}  // namespace steptime
