// How a model is updated: what clients send and when, and what it does to the parameters. One file
// in schedulers/ is one update; nothing else knows any of them by name.
//
// A client has parameters of its own, and computes a gradient from them in every step. The centre
// is the parameters on the servers: these change it when something is pushed, and send it to
// clients that pull.
#pragma once
#include "sim/config/registry.h"

#include <cstdint>
#include <span>
#include <string>

namespace steptime {

/// A range of a client's or of the centre's parameters, and of the velocity of their momentum.
struct Weights {
  std::span<double> w;
  std::span<double> velocity;
};

/// The sum of what `count` workers or clients have pushed of a range.
struct Pushed {
  std::span<const double> sum;
  double count = 1;
};

struct Descent {
  double rate = 0;
  double momentum = 0;
};

/// Momentum SGD with the mean gradient g = sum / count: v = momentum v - rate g, w = w + v (001
/// equation 1).
void descend(Weights weights, Pushed gradients, const Descent& descent);

/// What an aggregation has for workers to meet at.
struct MeetingPlace {
  bool holds_center = true;         ///< servers that hold parameters
  bool pulls_in_next_step = false;  ///< a step ends before its values are pulled
  bool adds_up_in_nodes = false;    ///< servers see the sums of nodes, not their workers' pushes
};

/// Whoever runs a client's program (sim/training/programs.h), which its update chooses.
class ClientPrograms {
 public:
  virtual ~ClientPrograms() = default;
  /// In every step it sends each bucket of gradients when it has the bucket's sum.
  virtual void send_gradients() = 0;
  /// In steps that exchange it sends the parameters that the step starts with, at once.
  virtual void send_parameters_at_start() = 0;
  /// In steps that exchange it sends the parameters that the step's own descent has made.
  virtual void send_parameters_at_end() = 0;
};

class Update {
 public:
  static constexpr const char* kNoun = "update";
  virtual ~Update() = default;

  /// Calls the one of the programs that it needs.
  virtual void choose(ClientPrograms& programs) const { programs.send_gradients(); }
  /// Clients train parameters of their own, which are what they send; else gradients.
  virtual bool sends_parameters() const { return false; }
  /// Of so many workers that meet without servers, how many train parameters of their own.
  std::int64_t trainers(std::int64_t workers) const { return sends_parameters() ? workers : 1; }
  /// Whether clients exchange anything in a step, counted from 0.
  virtual bool exchanges(std::int64_t /*step*/) const { return true; }
  /// Steps from one exchange to the next.
  virtual std::int64_t period() const { return 1; }
  /// Of the steps [0, steps), how many exchange.
  std::int64_t exchanges_in(std::int64_t steps) const;
  /// Servers change the centre when all clients have pushed, and answer then; or with each push.
  /// Only those that wait for all can do without servers: workers then have the sum from a
  /// collective.
  virtual bool waits_for_all() const = 0;
  /// All clients have waited for each other at the end of the last of so many steps.
  bool has_met(std::int64_t steps) const {
    return waits_for_all() && steps > 0 && exchanges(steps - 1);
  }
  /// Every step ends with the same parameters everywhere, so that it tells what all others take.
  bool ends_together() const { return waits_for_all() && !sends_parameters(); }
  /// Why it cannot be carried out there; empty: it can.
  virtual std::string refusal(const MeetingPlace& /*where*/) const { return {}; }
  /// Training steps whose mean tells what a step takes.
  virtual std::int64_t default_steps() const { return period(); }

  /// What a push, or all together, does to the centre.
  virtual void on_server(Weights center, Pushed pushed, const Descent& descent) const = 0;
  /// A pull returns the centre after the same client's push; or before it.
  virtual bool pull_sees_push() const { return true; }
  /// What a client does with all that it pulled in a step. One that sends parameters descends by
  /// itself in addition: after this, or when it sends them at the end, before.
  virtual void on_client(std::span<double> w, std::span<const double> pulled) const;
};
using Updates = Registry<Update>;

}  // namespace steptime
