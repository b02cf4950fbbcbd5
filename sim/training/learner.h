// The parameters of clients and servers, with their values: what each event of a training run does
// to them. Sums run by rank, never by arrival, so that synchronous training does not depend on the
// network.
#pragma once
#include "sim/learning/learning.h"
#include "sim/learning/update.h"
#include "sim/servers/servers.h"

#include <cstdint>
#include <span>
#include <vector>

namespace steptime {

class Learner final : public Store {
 public:
  /// `members`: workers of each client. `pushing`: neighbouring clients that push and pull as one.
  /// `convergence` and `update` must outlive the learner.
  Learner(const Convergence& convergence, const Update& update, std::int64_t clients,
          std::int64_t members, bool has_servers, std::int64_t seed, std::int64_t pushing = 1);

  /// The client's gradient at its parameters: the sum over its workers, in the order of ranks.
  void compute(std::int64_t client, std::int64_t step);

  // What a server does with a piece.
  /// What all clients have pushed, once all are there.
  void apply_all(const Piece& piece) override;
  /// What one pusher has pushed.
  void apply(std::int32_t pusher, const Piece& piece) override;
  /// A pusher is sent its values.
  void pull(std::int32_t pusher, const Piece& piece) override;
  /// Where all clients wait for each other: a collective, or servers all of their pieces, do this
  /// to all parameters, and send them to all.
  void meet();

  /// A step that all clients begin together: they meet at its end if their update exchanges in it.
  void step_together(std::int64_t step);

  /// A client uses all that it has pulled in a step.
  void take(std::int64_t client);
  /// A client changes its parameters by its own gradient, unless that is what the servers do.
  void descend(std::int64_t client);
  /// The same of a piece, in this order; `pulled`: in a step in which it has pulled that.
  void use(std::int64_t client, const Piece& piece, bool pulled);

  std::span<const double> client(std::int64_t c) const {
    return clients_[static_cast<std::size_t>(c)].w;
  }
  std::span<const double> center() const { return center_.w; }
  double learning_rate() const { return descent_.rate; }
  const Convergence& convergence() const { return convergence_; }
  /// What a test at that time gives, after so many steps of clients, all counted.
  CurvePoint point(Duration time, std::int64_t steps) const;

 private:
  /// Of the centre, where the run says so and there is one; else of client 0.
  Score test() const;
  struct State {
    std::vector<double> w;
    std::vector<double> velocity;
    std::vector<double> gradient;
    std::vector<double> pulled;
  };
  static Weights weights(State& state, ParameterRange range);
  void take(std::int64_t client, ParameterRange range);
  void descend(std::int64_t client, ParameterRange range);
  /// The pushes of clients [first, last), added up in the order of ranks.
  Pushed add_up(std::size_t first, std::size_t last, ParameterRange range);
  void copy(std::int32_t pusher, const Piece& piece);

  const Convergence& convergence_;
  const Update& update_;
  bool has_servers_;
  std::int64_t members_;
  std::size_t pushing_;
  Descent descent_;
  Batches batches_;
  std::vector<State> clients_;
  State center_;
  std::vector<double> sum_;
};

}  // namespace steptime
