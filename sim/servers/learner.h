// The parameters of clients and servers, with their values: what each event of a training run does
// to them. Sums run by rank, never by arrival, so that synchronous training does not depend on the
// network.
#pragma once
#include "sim/learning/learning.h"
#include "sim/servers/aggregation.h"

#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

/// A part [begin, end) of the parameters.
struct ParameterRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Learner {
 public:
  /// `members`: workers of each client. `pushing`: neighbouring clients that push and pull as one.
  Learner(const Convergence& convergence, const Update& update, std::int64_t clients,
          std::int64_t members, bool has_servers, std::int64_t seed, std::int64_t pushing = 1);

  /// The client's gradient at its parameters: the sum over its workers, in the order of ranks.
  void compute(std::int64_t client, std::int64_t step);

  // What a server does with a range.
  /// SGD: the gradients of all clients, once all are there.
  void apply_all(ParameterRange range);
  /// ASGD: one pusher's gradient. ESGD: equation 2 with one client's parameters.
  void apply(std::int64_t pusher, ParameterRange range);
  /// The values that a pusher is sent.
  void pull(std::int64_t pusher, ParameterRange range);

  /// The end of a client's step: it takes what it pulled, and does the updates that are its own.
  /// `exchanged`: ESGD met the servers in this step.
  void finish(std::int64_t client, bool exchanged);

  std::span<const double> client(std::int64_t c) const {
    return clients_[static_cast<std::size_t>(c)].w;
  }
  std::span<const double> center() const { return server_.w; }
  double learning_rate() const { return rate_; }
  Score test() const;

 private:
  struct State {
    std::vector<double> w;
    std::vector<double> velocity;
    std::vector<double> gradient;
    std::vector<double> pulled;
  };
  /// Momentum SGD with gradient / divisor: v = momentum v - rate g, w = w + v (001 equation 1).
  /// The gradients of clients [first, last), in the order of ranks, go to `sum_`.
  void add_up(std::size_t first, std::size_t last, ParameterRange range);
  void descend(State& state, std::span<const double> gradient, double divisor,
               ParameterRange range);

  const Convergence& convergence_;
  Update update_;
  bool has_servers_;
  std::int64_t members_;
  std::size_t pushing_;
  double rate_ = 0;
  Batches batches_;
  std::vector<State> clients_;
  State server_;
  std::vector<double> sum_;
};

}  // namespace steptime
