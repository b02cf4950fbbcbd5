// The oracle of OpEngine: MXNet's dependency engine for whatever operations a program pushes, by
// its definition. Each variable has a queue of the requests that have not ended; what is granted of
// it is a write at its head, or all reads before the first write.
#pragma once
#include "sim/events/engine.h"
#include "sim/mxnet/ops.h"
#include "sim/runtime/thread_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <utility>
#include <vector>

namespace steptime {

class DependencyEngine {
 public:
  using Variable = Ops::Variable;
  struct Operation {
    Ops::PoolId pool = 0;
    std::int32_t priority = 0;
    std::vector<Variable> reads{};
    std::vector<Variable> writes{};
  };
  /// An operation, by the number of its push, starts or ends; the variable that it got last.
  using Listener = std::function<void(bool is_end, std::size_t operation, Variable last_granted)>;

  DependencyEngine(Engine& clock, const std::vector<Ops::Pool>& pools, Listener listener)
      : clock_(clock), listener_(std::move(listener)) {
    for (const Ops::Pool& pool : pools)
      pools_.emplace_back(pool.threads, pool.order);
  }

  void push(const Operation& operation, Duration length) {
    const std::size_t number = pushed_.size();
    pushed_.push_back({operation, length, operation.reads.size() + operation.writes.size()});
    for (const Variable variable : uses(number)) {
      const auto& writes = operation.writes;
      const bool is_write = std::find(writes.begin(), writes.end(), variable) != writes.end();
      requests_[variable].push_back({number, is_write});
      pushed_[number].missing -= grant(variable).size();
    }
    if (pushed_[number].missing == 0) make_ready(number);
  }

 private:
  struct Request {
    std::size_t operation;
    bool is_write;
    bool is_granted = false;
  };
  struct Pushed {
    Operation operation;
    Duration length{};
    std::size_t missing = 0;  ///< grants
    Variable last_granted = Ops::kPushed;
  };

  std::vector<Variable> uses(std::size_t number) const {
    std::vector<Variable> all = pushed_[number].operation.reads;
    const std::vector<Variable>& writes = pushed_[number].operation.writes;
    all.insert(all.end(), writes.begin(), writes.end());
    return all;
  }
  /// The operations to which it is granted now.
  std::vector<std::size_t> grant(Variable variable) {
    std::vector<std::size_t> granted;
    std::list<Request>& requests = requests_[variable];
    for (Request& request : requests) {
      if (request.is_write && &request != &requests.front()) break;
      if (!std::exchange(request.is_granted, true)) granted.push_back(request.operation);
      if (request.is_write) break;
    }
    return granted;
  }
  void make_ready(std::size_t number) {
    const Operation& ready = pushed_[number].operation;
    if (pools_[ready.pool].add(ready.priority, static_cast<std::uint32_t>(number))) start_later();
  }
  void start_later() {
    clock_.after({}, Phase::kSchedule, [this] {
      for (ThreadPool& pool : pools_) {
        while (const auto taken = pool.next_taken()) {
          const std::size_t number = taken->operation;
          listener_(false, number, pushed_[number].last_granted);
          clock_.after(pushed_[number].length, Phase::kComplete, [this, number] { end(number); });
        }
      }
    });
  }
  void end(std::size_t number) {
    for (const Variable variable : uses(number)) {
      requests_[variable].remove_if([&](const Request& r) { return r.operation == number; });
      for (const std::size_t other : grant(variable)) {
        pushed_[other].last_granted = variable;
        if (--pushed_[other].missing == 0) make_ready(other);
      }
    }
    if (pools_[pushed_[number].operation.pool].end_one()) start_later();
    listener_(true, number, pushed_[number].last_granted);
  }

  Engine& clock_;
  Listener listener_;
  std::vector<ThreadPool> pools_;
  std::vector<Pushed> pushed_;
  std::map<Variable, std::list<Request>> requests_;
};

}  // namespace steptime
