#include "sim/mxnet/rank_gpus.h"

#include <utility>
#include <vector>

namespace steptime {

RankGpus::RankGpus(World& world, Costs costs, std::int32_t ranks, std::int64_t workers)
    : world_(world), costs_(std::move(costs)), workers_each_(workers / ranks) {
  for (std::int32_t rank = 0; rank < ranks; ++rank)
    gpus_.emplace_back(world, [this, rank](bool run) { set_kernels(rank, run); });
}

std::unique_ptr<Medium> RankGpus::slowed(std::unique_ptr<Medium> medium) {
  return slowed(std::move(medium), {0, static_cast<std::int32_t>(gpus_.size())});
}

std::unique_ptr<Medium> RankGpus::slowed(std::unique_ptr<Medium> medium, Part of,
                                         const SlowedMedium::SlowdownOf& beside) {
  if (!beside) return medium;
  std::vector<ComputingGpu*> gpus;
  for (std::int32_t rank = of.first; rank < of.first + of.count; ++rank)
    gpus.push_back(&this->of(rank));
  return std::make_unique<SlowedMedium>(world_, std::move(medium), beside, std::move(gpus),
                                        "collectives slowed by kernels");
}

void RankGpus::slow_links_of(Network& network, const Machine& machine) {
  if (costs_.links == 1) return;
  links_.emplace(network, machine, costs_.links);
  tell([this](std::int64_t worker, bool run) { links_->set(static_cast<Endpoint>(worker), run); });
}

void RankGpus::set_kernels(std::int32_t rank, bool run) {
  if (!on_kernels_) return;
  const std::int64_t first = rank * workers_each_;
  for (std::int64_t worker = first; worker < first + workers_each_; ++worker)
    on_kernels_(worker, run);
}

}  // namespace steptime
