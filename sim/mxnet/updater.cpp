#include "sim/mxnet/updater.h"

namespace steptime {
namespace {

class NoUpdater final : public Updater {
  void push(NodeProcess&, std::size_t, SummedParts) const override {}
  void pull(NodeProcess&, std::size_t, SummedParts) const override {}
};

class UpdaterOfProcess final : public Updater {
  void push(NodeProcess& process, std::size_t, SummedParts parts) const override {
    for (const SummedPart& part : parts) {
      NodeProcess::Variables reads;
      if (part.sum != part.weights) reads.push_back(part.sum);
      process.update(part.gpu, reads, part.weights);
    }
  }
  void pull(NodeProcess& process, std::size_t, SummedParts parts) const override {
    for (const SummedPart& part : parts) {
      if (part.sum != part.weights)
        process.copy(part.gpu, part.gpu, part.bytes, part.weights, part.sum);
    }
  }
};

NodeProcess::Variables weights_of(SummedParts parts) {
  NodeProcess::Variables weights;
  for (const SummedPart& part : parts)
    weights.push_back(part.weights);
  return weights;
}

}  // namespace

const Updater& no_updater() {
  static const NoUpdater updater;
  return updater;
}

const Updater& updater_of_process() {
  static const UpdaterOfProcess updater;
  return updater;
}

void UpdaterAtServers::push(NodeProcess& process, std::size_t key, SummedParts parts) const {
  const std::int32_t priority = process.set_priority(0);
  for (const SummedPart& part : parts) {
    if (part.gpu != NodeProcess::kHost)
      process.copy(part.gpu, NodeProcess::kHost, part.bytes, part.sum, part.weights);
  }
  process.set_priority(priority);
  ask(process, &Servers::push, key, weights_of(parts), {});
}

void UpdaterAtServers::pull(NodeProcess& process, std::size_t key, SummedParts parts) const {
  ask(process, &Servers::pull, key, {}, weights_of(parts));
  for (const SummedPart& part : parts) {
    if (part.gpu != NodeProcess::kHost)
      process.copy(NodeProcess::kHost, part.gpu, part.bytes, part.weights, part.sum);
  }
}

}  // namespace steptime
