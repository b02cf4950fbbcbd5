#include "sim/network/kernel_links.h"

namespace steptime {

void KernelLinks::set(Endpoint worker, bool run) {
  crossed_.clear();
  machine_.to_neighbours(worker, crossed_);
  for (const ChannelId channel : crossed_) {
    const auto [at, is_new] = links_.try_emplace(channel);
    Link& link = at->second;
    if (is_new) link.rate = network_.rate(channel);
    link.gpus += run ? 1 : -1;
    network_.set_rate(channel, link.gpus > 0 ? link.rate / factor_ : link.rate);
  }
}

}  // namespace steptime
