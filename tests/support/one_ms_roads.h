// Two nodes of two workers that meet at servers, over roads on which everything takes 1 ms.
#pragma once
#include "sim/servers/piece_wire.h"
#include "sim/training/roads.h"
#include "tests/support/training.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {

/// Delivers every piece 1 ms after it is sent, without limit.
class OneMs final : public PieceLine {
 public:
  OneMs(World& world, std::vector<std::string>& log, std::string name)
      : world_(world), log_(log), name_(std::move(name)) {}
  void carry(const SentPiece& sent, PieceLineUser& user) override {
    log_.push_back(
        fmt::format("{}: client {} {}", name_, sent.of->client, sent.is_push ? "pushes" : "gets"));
    world_.engine.after(std::chrono::milliseconds(1), Phase::kNormal,
                        [this, sent, user = &user] { user->came(sent, world_.present()); });
  }
  Duration latency(std::int32_t, std::int32_t) override { return std::chrono::milliseconds(1); }

 private:
  World& world_;
  std::vector<std::string>& log_;
  std::string name_;
};

class OneMsRoads final : public Roads {
 public:
  using Roads::Roads;
  std::unique_ptr<Medium> medium(std::int32_t, const Collective&) override { return nullptr; }
  std::int64_t count(const std::string& line) const {
    return std::count(log.begin(), log.end(), line);
  }
  Network& in_nodes() override { throw std::logic_error("nobody copies inside nodes here"); }
  std::vector<std::string> log;

 private:
  std::unique_ptr<PieceLine> line(PortEnds ends, const Pieces&, bool in_node) override {
    return std::make_unique<OneMs>(
        world_, log, in_node ? fmt::format("node {}", ends.clients.front().node) : "beyond");
  }
  std::unique_ptr<Wire> bare_wire(PortEnds) override { return nullptr; }
};

/// One bucket, of 4 MB, on the second place of each of 2 nodes with 2 workers, and half each on 2
/// servers beyond.
inline TrainingPlan two_nodes(const Placement& placement, const std::string& update = kSgd) {
  TrainingPlan plan = plan_training(training_experiment(strategy(servers(1), update), 4));
  plan.cluster = {.nodes = 2, .gpus_per_node = 2};
  plan.aggregation = {
      .clients = 4,
      .servers = {.count = 2, .placement = &placement, .requests = &requests_named("pushpull")}};
  plan.aggregation.beyond = {{.count = 2}, std::nullopt};
  plan.step.buckets.resize(1);
  plan.names = {"key"};
  plan.pieces = {{{.server = 1, .bytes = {4'000'000}}}};
  plan.pieces_beyond = {{{.server = 0, .bytes = {2'000'000}}, {.server = 1, .bytes = {2'000'000}}}};
  return plan;
}

}  // namespace steptime
