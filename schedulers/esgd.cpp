// Elastic averaging: a client trains by itself and exchanges its parameters w with the centre c of
// the servers in every `interval`-th step, the first one included:
//
//   server: c' = c + alpha (w - c)      client: w' = w - alpha (w - c or c')      (001, 2 and 3)
//
// Parameters: interval [steps], alpha, reading: "push-then-pull" is Figure 8, where the pull comes
// after the push and so returns c'; "simultaneous" is the equations as printed, both with c.
// Limits: Figure 8 as printed updates the parameters only in exchange steps, and counts keys
// instead of batches; here every batch does an SGD update, and `interval` counts batches. Source:
// 001 section 5, equations 2 and 3, Figure 8.
#include "sim/learning/update.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "interval",
                      .kind = Kind::kInteger,
                      .help = "steps from exchange to exchange",
                      .need = Need::kDefault,
                      .fallback = 64,
                      .range = {.low = 1, .high = 1e9}},
                     {.key = "alpha",
                      .kind = Kind::kNumber,
                      .help = "how far centre and client move towards each other",
                      .need = Need::kDefault,
                      .fallback = 0.5,
                      .range = {.low = 0, .high = 1}},
                     {.key = "reading",
                      .kind = Kind::kText,
                      .help = "which centre a client gets: after or before its own push",
                      .need = Need::kDefault,
                      .fallback = "push-then-pull",
                      .words = {"push-then-pull", "simultaneous"}}};

class Esgd final : public Update {
 public:
  explicit Esgd(const Config& c)
      : interval_(c.get<std::int64_t>("interval")),
        alpha_(c.get<double>("alpha")),
        pull_sees_push_(c.get<std::string>("reading") == "push-then-pull") {}

  /// Nothing writes the parameters before the step's end.
  void choose(ClientPrograms& programs) const override { programs.send_parameters_at_start(); }
  bool sends_parameters() const override { return true; }
  bool exchanges(std::int64_t step) const override { return step % interval_ == 0; }
  bool waits_for_all() const override { return false; }
  std::string refusal(const MeetingPlace& where) const override {
    if (where.pulls_in_next_step) {
      return "esgd pulls in the step that pushes; choose other requests than \"next-step\"";
    }
    if (where.adds_up_in_nodes)
      return "esgd exchanges parameters, which a kvstore's nodes would add up";
    if (where.holds_center) return {};
    return "esgd needs parameter servers, which hold the centre; choose parameter-server, or "
           "hybrid with servers";
  }
  std::int64_t period() const override { return interval_; }
  /// Equation 2.
  void on_server(Weights center, Pushed pushed, const Descent&) const override {
    for (std::size_t i = 0; i < center.w.size(); ++i)
      center.w[i] += alpha_ * (pushed.sum[i] - center.w[i]);
  }
  bool pull_sees_push() const override { return pull_sees_push_; }
  /// Equation 3.
  void on_client(std::span<double> w, std::span<const double> pulled) const override {
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] -= alpha_ * (w[i] - pulled[i]);
  }

 private:
  std::int64_t interval_;
  double alpha_;
  bool pull_sees_push_;
};

const bool kRegistered =
    Updates::instance().add("esgd", "elastic averaging with the servers, now and then", kParams,
                            [](const Config& c) { return std::make_unique<Esgd>(c); });

}  // namespace
}  // namespace steptime
