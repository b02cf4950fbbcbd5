// Local SGD: every trainer makes `interval` steps of SGD by itself, then all take the mean of their
// parameters:
//
//   w_k(t+1) = w_k(t) - rate g_k(w_k(t)), and in every `interval`-th step the mean of that over k
//
// Without servers a trainer is a worker, and the aggregation's collective adds the parameters up
// once the last worker has come; nothing is sent in the steps between. With servers it is a client,
// whose workers still all-reduce their gradients in every step (hierarchical local SGD); it pushes
// its parameters at the end of the step, and the servers answer with the mean when all have pushed.
//
// Parameters: interval [steps].
// Limits: the rate is scaled with all workers, as the mean step is that of all of them; so interval
// 1 is synchronous SGD, up to rounding, with momentum as well: velocities are never averaged
// (local momentum), but their mean is what matters. Nothing of the exchange overlaps computation,
// except in MXNet's engine: there a key is sent when it is updated, and the next forward pass waits
// for the weights that it reads.
// Source: S. U. Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019
// (arXiv:1805.09767), algorithm 1; T. Lin et al., "Don't Use Large Mini-Batches, Use Local SGD",
// 2018 (arXiv:1808.07217), for the hierarchy.
#include "sim/learning/update.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "interval",
                      .kind = Kind::kInteger,
                      .help = "local steps from average to average",
                      .range = {.low = 1, .high = 1e9}}};

class LocalSgd final : public Update {
 public:
  explicit LocalSgd(const Config& c) : interval_(c.get<std::int64_t>("interval")) {}

  void choose(ClientPrograms& programs) const override { programs.send_parameters_at_end(); }
  bool sends_parameters() const override { return true; }
  bool exchanges(std::int64_t step) const override { return (step + 1) % interval_ == 0; }
  bool waits_for_all() const override { return true; }
  std::string refusal(const MeetingPlace& where) const override {
    if (!where.pulls_in_next_step) return {};
    return "local-sgd pulls in the step that pushes; choose other requests than \"next-step\"";
  }
  std::int64_t period() const override { return interval_; }
  void on_server(Weights center, Pushed parameters, const Descent&) const override {
    for (std::size_t i = 0; i < center.w.size(); ++i)
      center.w[i] = parameters.sum[i] / parameters.count;
  }

 private:
  std::int64_t interval_;
};

const bool kRegistered =
    Updates::instance().add("local-sgd", "local steps, then an average of parameters", kParams,
                            [](const Config& c) { return std::make_unique<LocalSgd>(c); });

}  // namespace
}  // namespace steptime
