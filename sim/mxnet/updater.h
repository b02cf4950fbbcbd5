// Where the optimizer of a process runs that drives the GPUs of a node, and so where the weights of
// a key are: nowhere, as sums are all that is asked for; in the process, on whoever has the sum; or
// on servers, which all nodes push their sums to.
//
// Source: apache/mxnet 1.3.1 src/kvstore/kvstore_local.h (PushImpl, PullImpl), kvstore_dist.h
// (Push_, PullImpl, PushDefault), python/mxnet/model.py (_update_params_on_kvstore).
#pragma once
#include "sim/mxnet/node_process.h"
#include "sim/servers/servers.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace steptime {

/// What a GPU or the host has of a key's sum, and the weights that this changes, which may be where
/// the sum is.
struct SummedPart {
  std::int32_t gpu = 0;
  std::int64_t bytes = 0;
  NodeProcess::Variable sum = 0;
  NodeProcess::Variable weights = 0;
};
using SummedParts = std::span<const SummedPart>;

class Updater {
 public:
  virtual ~Updater() = default;
  /// Of it, by the main thread, in a push of so many keys.
  virtual std::int64_t calls(std::int64_t keys) const { return keys; }
  /// Says what a push of a key ends with, and a pull of it begins with, which leaves the weights
  /// where the sums were.
  virtual void push(NodeProcess& process, std::size_t key, SummedParts parts) const = 0;
  virtual void pull(NodeProcess& process, std::size_t key, SummedParts parts) const = 0;
};

/// Sums go back as they are.
const Updater& no_updater();
/// It updates each part where that is, by an operation.
const Updater& updater_of_process();

/// Sums are copied to the host, where they are not there yet, and pushed; a pull is sent when the
/// push of its key has been answered. Keys are the last bucket of the servers to the first. A copy
/// to the host has priority 0, and passes every key but the first.
class UpdaterAtServers final : public Updater {
 public:
  /// The servers must outlive it.
  UpdaterAtServers(Servers& servers, std::size_t keys) : servers_(servers), keys_(keys) {}
  std::int64_t calls(std::int64_t /*keys*/) const override { return 0; }
  void push(NodeProcess& process, std::size_t key, SummedParts parts) const override;
  void pull(NodeProcess& process, std::size_t key, SummedParts parts) const override;

 private:
  void ask(NodeProcess& process, NodeProcess::Request request, std::size_t key,
           const NodeProcess::Variables& reads, const NodeProcess::Variables& writes) const {
    process.ask(servers_, request, static_cast<std::int32_t>(keys_ - 1 - key), reads, writes);
  }

  Servers& servers_;
  std::size_t keys_;
};

}  // namespace steptime
