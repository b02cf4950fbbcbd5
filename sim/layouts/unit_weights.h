// Which units' weights a rank gathers next, while it computes with others: FSDP's order of calls.
//
// A visit is a pass of a rank through a unit. A forward pass's host runs ahead: the unit of a later
// visit is asked for as soon as no more than `at_once` are there. Behind a visit of a backward pass
// the next unit waits for its end, and with that for the sum of its gradients, which the same
// communicator works on in order; with prefetch it is asked for when the visit begins.
// Source: PyTorch torch/distributed/fsdp/_runtime_utils.py (_pre_backward_hook, _prefetch_handle,
// _rate_limit).
#pragma once
#include "sim/layouts/pipeline_order.h"
#include "sim/layouts/states.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace steptime {

class UnitWeights {
 public:
  struct User {
    std::function<Pass(std::int64_t k)> pass;
    std::function<std::int64_t()> passes;
    std::vector<std::size_t> units;     ///< how many units each chunk has
    std::function<bool(Pass)> is_last;  ///< whether it is of the last micro-batch
    /// Asks for a unit's weights, for which there is memory from now on; returns the call.
    std::function<std::int64_t(std::int32_t chunk, std::size_t unit)> gather;
    std::function<void(std::int32_t chunk, std::size_t unit)> let_go;
  };
  UnitWeights(UnitGathering gathering, User user);

  /// The step begins.
  void start() { ask(); }
  /// The next visit is at its turn: the call that it waits for, or below 0 none.
  std::int64_t begin();
  /// It is over, and what it has summed was called.
  void end();

 private:
  struct Visit {
    std::int32_t chunk = 0;
    std::size_t unit = 0;
    bool is_backward = false;
    bool asks_for_weights = false;
    bool lets_go = false;
    std::int64_t call = -1;
  };
  bool find_next();
  bool may_ask() const;
  void ask();

  UnitGathering gathering_;
  User user_;
  std::int64_t pass_ = 0;  ///< the pass whose visit is asked for next
  std::size_t place_ = 0;  ///< in it
  Pass in_{};              ///< the same pass, from its first visit on
  Visit next_{};
  bool has_next_ = false;
  bool follows_backward_ = false;  ///< the visit before the next one is of a backward pass
  std::deque<Visit> asked_;        ///< and not over
  std::int64_t there_ = 0;         ///< gathered or under way, for visits that are not over
  bool is_in_ = false;             ///< the first of these has begun
};

}  // namespace steptime
