// Playing a collective on a plain cluster, and following its data.
#pragma once
#include "netmodels/programs.h"
#include "sim/collective/collective_player.h"
#include "sim/collective/collective_program.h"
#include "sim/collective/message_time.h"
#include "sim/network/cluster.h"
#include "sim/network/machine.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace steptime {

/// N nodes with one GPU each on a switch: 50 us and 1.25 GB/s, so that a byte takes 800 ps.
inline Cluster star_cluster(std::int64_t nodes, TimePerByte reduction = {}) {
  Cluster cluster{.nodes = nodes};
  cluster.network = {std::chrono::microseconds(50), {1.25e9}};
  cluster.intra_node = cluster.network;
  cluster.reduction = reduction;
  return cluster;
}
constexpr std::int64_t kLatencyPs = 50'000'000;
constexpr std::int64_t kPsPerByte = 800;

/// On the general path, in ps.
inline std::int64_t play(std::unique_ptr<Program> program, const Cluster& cluster) {
  const Machine machine(cluster);
  return played_time(one(std::move(program)), machine, cluster.reduction, cluster.messages).count();
}

/// Buffers of all ranks, moved and added up as the messages say.
class Data final : public DataObserver {
 public:
  using Values = std::vector<std::uint64_t>;
  explicit Data(std::vector<Values> start) : ranks(std::move(start)) {}

  void started(Rank from, Rank to, Slice slice) override {
    const Values& source = ranks.at(static_cast<std::size_t>(from));
    // A message carries what its sender had when it left.
    under_way_[{from, to}].emplace_back(
        slice, Values(source.begin() + slice.offset, source.begin() + slice.offset + slice.bytes));
  }
  void delivered(Rank from, Rank to, Slice slice, bool reduce) override {
    auto& queue = under_way_[{from, to}];
    if (queue.empty()) {
      agrees = false;
      return;
    }
    // Messages of one pair may overtake each other when several programs run side by side.
    auto message = queue.begin();
    while (message != queue.end() && !(message->first == slice))
      ++message;
    if (message == queue.end()) {
      agrees = false;  // the two ends name different slices
      return;
    }
    Values& target = ranks.at(static_cast<std::size_t>(to));
    for (std::size_t i = 0; i < message->second.size(); ++i) {
      std::uint64_t& value = target.at(static_cast<std::size_t>(slice.offset) + i);
      value = message->second[i] + (reduce ? value : 0);
    }
    transfers.push_back({from, to, slice.offset, slice.bytes});
    queue.erase(message);
  }

  std::vector<Values> ranks;
  bool agrees = true;
  std::vector<std::array<std::int64_t, 4>> transfers;  ///< from, to, offset, bytes

 private:
  std::map<std::pair<Rank, Rank>, std::deque<std::pair<Slice, Values>>> under_way_;
};

/// A different number for every rank and byte, such that sums tell which ones they hold: 64 random
/// bits each, from splitmix64.
inline std::vector<Data::Values> random_data(Rank ranks, std::int64_t bytes) {
  std::uint64_t state = 0;
  const auto next = [&state] {
    std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  };
  std::vector<Data::Values> data(static_cast<std::size_t>(ranks));
  for (auto& values : data) {
    values.resize(static_cast<std::size_t>(bytes));
    for (auto& value : values)
      value = next();
  }
  return data;
}
inline Data::Values sum_of(const std::vector<Data::Values>& data) {
  Data::Values sum(data.front().size());
  for (const auto& values : data) {
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += values[i];
  }
  return sum;
}

/// Plays the programs with these buffers and returns what they have become; empty when a rank never
/// comes to an end or two ends of a message disagree.
inline std::vector<Data::Values> carry(const Programs& programs, const Cluster& cluster,
                                       std::vector<Data::Values> start) {
  const Machine machine(cluster);
  Engine engine;
  Network network(engine, machine, cluster.messages);
  Data data(std::move(start));
  CollectivePlayer player(network, programs, cluster.reduction, {}, &data);
  player.start_at(Time{});
  engine.run();
  if (!player.is_over() || !data.agrees) return {};
  return data.ranks;
}

/// Whether every rank holds the sum of what all began with.
inline bool all_reduces(const Programs& programs, Rank ranks, std::int64_t bytes,
                        const Cluster& cluster) {
  const auto start = random_data(ranks, bytes);
  const auto sum = sum_of(start);
  const auto end = carry(programs, cluster, start);
  if (end.empty()) return false;
  for (const auto& values : end) {
    if (values != sum) return false;
  }
  return true;
}

/// Sizes that do and do not divide evenly, none at all, and fewer bytes than ranks.
inline constexpr std::array<std::int64_t, 5> kSizes{0, 1, 7919, 200'000, 100'000'000};

/// What a message of `bytes` costs on the star, and what adding it up costs at 1 ns/B.
inline std::int64_t message_ps(std::int64_t bytes) {
  return kLatencyPs + bytes * kPsPerByte;
}
inline constexpr TimePerByte kGamma{1e-9};
inline std::int64_t sum_ps(std::int64_t bytes) {
  return bytes * 1000;
}

}  // namespace steptime
