#include "sim/mxnet/deadlock.h"

#include "sim/core/error.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/strong_components.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

using Subject = Communicators::Subject;
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                    std::string>;  // an edge says why one waits for the other
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;

/// A main thread, or a pending operation of a rank's engine.
struct Party {
  std::int32_t rank = 0;
  std::optional<OpEngine::OperationId> operation{};
  auto key() const { return std::tuple(rank, operation ? 1 + std::int64_t{*operation} : 0); }
};

class WaitFor {
 public:
  WaitFor(const Communicators& world, std::span<const std::unique_ptr<MpiRank>> workers)
      : world_(world),
        workers_(workers),
        stuck_(world.stuck()),
        stuck_of_(workers.size()),
        calls_of_(workers.size()) {
    for (const Communicators::Stuck& call : stuck_)
      stuck_of_[static_cast<std::size_t>(call.rank)].push_back(call);
    for (const auto& worker : workers_)
      note_calls(*worker);
    for (const Communicators::Stuck& call : stuck_)
      vertex(caller(call));
    for (const auto& worker : workers_)
      vertex({worker->rank()});
    while (!open_.empty()) {
      const Vertex next = open_.front();
      open_.pop_front();
      add_waits(next);
    }
  }

  /// The reasons along a shortest cycle through the first party that is on any.
  std::vector<std::string> cycle() const {
    std::vector<int> component(num_vertices(waits_));
    boost::strong_components(waits_, boost::make_iterator_property_map(
                                         component.begin(), get(boost::vertex_index, waits_)));
    std::vector<int> size(component.size());
    for (const int c : component)
      ++size[static_cast<std::size_t>(c)];
    for (Vertex v = 0; v < component.size(); ++v) {
      if (size[static_cast<std::size_t>(component[v])] > 1) return shortest_cycle(v);
    }
    return {};
  }

  /// "rank 0 calls MPI_Allreduce(a) where rank 1 calls MPI_Allreduce(b)", or "".
  std::string first_mismatch() const {
    for (const Communicators::Stuck& call : stuck_) {
      for (const Communicators::Stuck& other : stuck_) {
        if (other.communicator != call.communicator || other.number != call.number ||
            other.subject == call.subject) {
          continue;
        }
        return fmt::format("collective {} of communicator {} is {} at rank {} but {} at rank {}",
                           call.number + 1, call.communicator, name(call.subject), call.rank,
                           name(other.subject), other.rank);
      }
    }
    return "";
  }

 private:
  static constexpr std::int32_t kMostMissing = 8;

  MpiRank& worker(std::int32_t rank) const { return *workers_[static_cast<std::size_t>(rank)]; }
  std::string name(Subject subject) const {
    if (subject.key == Communicators::kBarrier) return "MPI_Barrier";
    return fmt::format("MPI_Allreduce({})", world_.name(subject.key));
  }

  void note_calls(const MpiRank& w) {
    for (const OpEngine::OperationId id : w.engine().all_pending()) {
      if (w.is_all_reduce(id))
        calls_of_[static_cast<std::size_t>(w.rank())].emplace_back(w.subject_of(id), id);
    }
  }

  /// Who at `rank` makes, or is to make, the call for the subject.
  Party caller(std::int32_t rank, Subject subject) const {
    for (const auto& [of, id] : calls_of_[static_cast<std::size_t>(rank)]) {
      if (of == subject) return {rank, id};
    }
    return {rank};
  }
  Party caller(const Communicators::Stuck& call) const { return caller(call.rank, call.subject); }

  Vertex vertex(const Party& party) {
    const auto [place, is_new] = vertices_.try_emplace(party.key(), 0);
    if (is_new) {
      place->second = add_vertex(waits_);
      parties_.push_back(party);
      open_.push_back(place->second);
    }
    return place->second;
  }
  void add(Vertex from, const Party& to, const std::string& why) {
    add_edge(from, vertex(to), why, waits_);
  }

  void add_waits(Vertex v) {
    const Party party = parties_[v];
    const MpiRank& w = worker(party.rank);
    if (party.operation) return add_operation_waits(v, w, *party.operation);
    const auto pending = w.engine().all_pending();
    switch (w.main_state()) {
      case MpiRank::kRuns:
      case MpiRank::kAwaitsSamples:  // which always come
        return;
      case MpiRank::kWaitToRead:
        for (const auto id : pending) {
          if (w.is_wait(id))
            add(v, {party.rank, id},
                fmt::format("rank {}'s main thread is in WaitToRead", w.rank()));
        }
        return;
      case MpiRank::kDrain:
        for (const auto id : pending) {
          if (w.is_all_reduce(id))
            add(v, {party.rank, id},
                fmt::format("rank {}'s main thread waits in barrier for {}", w.rank(),
                            w.describe(id)));
        }
        return;
      case MpiRank::kInCall:
        return add_call_waits(v, w, w.main_call(), world_.number_of(w.rank(), w.main_call().key));
    }
  }

  void add_operation_waits(Vertex v, const MpiRank& w, OpEngine::OperationId id) {
    const OpEngine& engine = w.engine();
    const std::string what = fmt::format("rank {}'s {}", w.rank(), w.describe(id));
    switch (engine.state(id)) {
      case OpEngine::State::kBlocked:
        for (const auto other : engine.blockers(id)) {
          add(v, {w.rank(), other},
              fmt::format("{} waits for a variable of {}", what, w.describe(other)));
        }
        return;
      case OpEngine::State::kQueued:
        for (const auto other : engine.on_threads_of(id)) {
          add(v, {w.rank(), other},
              fmt::format("{} waits for the thread of {}", what, w.describe(other)));
        }
        return;
      case OpEngine::State::kRunning:
        if (w.is_all_reduce(id)) {
          const Subject subject = w.subject_of(id);
          add_call_waits(v, w, subject, world_.number_of(w.rank(), subject.key));
        }
        return;
      case OpEngine::State::kFree:
        return;
    }
  }

  void add_call_waits(Vertex v, const MpiRank& w, Subject subject, std::int32_t communicator) {
    const auto& stuck = stuck_of_[static_cast<std::size_t>(w.rank())];
    const auto is_own = [&](const Communicators::Stuck& call) {
      return call.communicator == communicator && call.subject == subject;
    };
    const auto own = std::ranges::find_if(stuck, is_own);
    if (own == stuck.end()) return;
    for (const Communicators::Stuck& other : stuck) {
      if (other.communicator != communicator) continue;
      if (other.number >= own->number) break;
      return add(v, caller(other),
                 fmt::format("rank {}'s {} waits behind its {} on communicator {}", w.rank(),
                             name(subject), name(other.subject), communicator));
    }
    // Some of those that are missing will do: whoever waits needs one reason to be on a cycle.
    std::int32_t missing = 0;
    for (std::int32_t rank = 0; rank < world_.ranks() && missing < kMostMissing; ++rank) {
      const auto joins = [&](const Communicators::Stuck& call) {
        return is_own(call) && call.number == own->number;
      };
      if (std::ranges::any_of(stuck_of_[static_cast<std::size_t>(rank)], joins)) continue;
      ++missing;
      const Party other =
          subject.key == Communicators::kBarrier ? Party{rank} : caller(rank, subject);
      add(v, other,
          fmt::format("rank {} in {} on communicator {} waits for rank {} to join", w.rank(),
                      name(subject), communicator, rank));
    }
  }

  /// By breadth: how each party was reached from the start, and the first way back to it.
  struct Search : boost::default_bfs_visitor {
    using Edge = boost::graph_traits<Graph>::edge_descriptor;
    Vertex start;
    std::vector<Edge>& reached_by;
    std::optional<Edge>& back;
    Search(Vertex from, std::vector<Edge>& reached, std::optional<Edge>& closing)
        : start(from), reached_by(reached), back(closing) {}
    void tree_edge(Edge edge, const Graph& waits) const { reached_by[target(edge, waits)] = edge; }
    void non_tree_edge(Edge edge, const Graph& waits) const {
      if (target(edge, waits) == start && !back) back = edge;
    }
  };

  std::vector<std::string> shortest_cycle(Vertex start) const {
    std::vector<Search::Edge> reached_by(num_vertices(waits_));
    std::optional<Search::Edge> back;
    boost::breadth_first_search(waits_, start, boost::visitor(Search(start, reached_by, back)));
    std::vector<std::string> reasons{waits_[*back]};
    for (Vertex v = source(*back, waits_); v != start; v = source(reached_by[v], waits_))
      reasons.push_back(waits_[reached_by[v]]);
    std::reverse(reasons.begin(), reasons.end());
    return reasons;
  }

  const Communicators& world_;
  std::span<const std::unique_ptr<MpiRank>> workers_;
  std::vector<Communicators::Stuck> stuck_;
  std::vector<std::vector<Communicators::Stuck>> stuck_of_;  ///< by rank
  std::vector<std::vector<std::pair<Subject, OpEngine::OperationId>>> calls_of_;
  Graph waits_;
  std::vector<Party> parties_;  ///< by vertex
  std::map<std::tuple<std::int32_t, std::int64_t>, Vertex> vertices_;
  std::deque<Vertex> open_;
};

}  // namespace

std::string describe_deadlock(const Communicators& world,
                              std::span<const std::unique_ptr<MpiRank>> workers, Time now) {
  const WaitFor wait_for(world, workers);
  const std::vector<std::string> cycle = wait_for.cycle();
  STEPTIME_CHECK(!cycle.empty(), "ranks that do not go on wait for each other");
  const std::string mismatch = wait_for.first_mismatch();
  return fmt::format("deadlock after {} s: {}{} wait for each other:\n  {}",
                     to_seconds(since_start(now)), mismatch.empty() ? "" : mismatch + ";\n",
                     mismatch.empty() ? "ranks" : "so they", fmt::join(cycle, "\n  "));
}

}  // namespace steptime
