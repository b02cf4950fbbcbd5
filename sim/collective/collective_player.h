// Plays the programs of a collective on a network: the general path. Any number of players may
// share a network; their messages then contend.
#pragma once
#include "sim/collective/collective_program.h"
#include "sim/collective/played_parts.h"
#include "sim/core/units.h"
#include "sim/network/network.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace steptime {

class Collective;

/// Sees the data move, for tests: both calls come in the order of simulated time.
class DataObserver {
 public:
  virtual ~DataObserver() = default;
  virtual void started(Rank from, Rank to, Slice slice) = 0;
  virtual void delivered(Rank from, Rank to, Slice slice, bool reduce) = 0;
};

/// Hears that a program, or a collective, is over.
class CollectiveUser {
 public:
  virtual ~CollectiveUser() = default;
  virtual void over(std::int32_t who) = 0;
};

class ProgramPlayer final : public MessageSink {
 public:
  /// `placement`: the endpoint of each rank; empty: rank r is at endpoint r. All references must
  /// outlive the player. `tells_parts`: it keeps what led to where ranks are.
  ProgramPlayer(Network& network, const Program& program, TimePerByte reduction,
                std::span<const Endpoint> placement = {}, DataObserver* observer = nullptr,
                bool tells_parts = false);
  ProgramPlayer(const ProgramPlayer&) = delete;
  ProgramPlayer& operator=(const ProgramPlayer&) = delete;

  /// Starts all ranks at `time`.
  void start_at(Time time);
  /// Calls user.over(who) when the last rank has its result; nothing of the player is under way
  /// then, so that it may end with the call.
  void tell(CollectiveUser& user, std::int32_t who) {
    user_ = &user;
    name_ = who;
  }
  bool is_over() const { return ranks_over_ == program_.ranks(); }
  /// When the last rank had its result; only once is_over().
  Time end() const { return end_; }
  /// What the time from the start to the end passed for, where it tells.
  const PlayedParts& parts() const { return parts_; }
  /// When nothing is under way and it is not over: which rank waits in which step, and for what.
  std::string waiting() const;

  void delivered(const Message& message) override;
  void device_done(std::int32_t who) override;

 private:
  struct State {
    std::int32_t step = -1;  ///< the one that it has come to
    std::int32_t steps = 0;
    std::int32_t open = 0;   ///< messages of the step that are not over
    std::int32_t works = 0;  ///< works of the device, reductions among them, that are not over
    /// How many of the works that are not over do not keep the step from ending.
    std::int32_t behind = 0;
    bool reduces = false;
  };
  /// What led to a rank's coming to its step, and to its device's first work since it was idle.
  struct Led {
    PlayedParts here;
    PlayedParts works;
  };
  Endpoint place(Rank rank) const {
    return placement_.empty() ? rank : placement_[static_cast<std::size_t>(rank)];
  }
  void come_to(Rank rank, std::int32_t step);
  void transfer(Rank from, Rank to, Slice slice);
  void work(Rank rank, Duration length, const PlayedParts& since);
  void end_one(Rank rank, const PlayedParts& because);
  void go_on(Rank rank, const PlayedParts& because);
  bool tells_parts() const { return !led_.empty(); }
  const PlayedParts& led_here(Rank rank) const;
  PlayedParts led_by(const Message& message) const;
  Slice incoming(Rank from, Rank to) const;
  void receive(Rank from, Rank to, std::int64_t bytes, const PlayedParts& because);
  bool is_awaited(Rank from, Rank to) const;
  bool take_early(Rank from, Rank to, std::int32_t step);

  Network& network_;
  const Program& program_;
  TimePerByte reduction_;
  std::span<const Endpoint> placement_;
  DataObserver* observer_;
  std::vector<State> states_;
  /// What led to each rank's last change; empty where nobody asks for causes.
  std::vector<Led> led_;
  /// A message that lies in a buffer: its receiver has not come to it.
  struct Early {
    Rank from = 0;
    Rank to = 0;
    std::int32_t step = 0;  ///< the sender's
    bool operator==(const Early&) const = default;
  };
  const bool buffered_;
  std::vector<Early> early_;
  Rank ranks_over_ = 0;
  Time start_{};
  Time end_{};
  PlayedParts parts_;
  CollectiveUser* user_ = nullptr;
  std::int32_t name_ = 0;  ///< the user's
};

/// All programs of a collective, started together.
class CollectivePlayer final : CollectiveUser {
 public:
  CollectivePlayer(Network& network, const Programs& programs, TimePerByte reduction,
                   std::span<const Endpoint> placement = {}, DataObserver* observer = nullptr,
                   bool tells_parts = false);
  void start_at(Time time);
  /// Calls user.over(who) once, when all programs are over; the player may end with the call.
  void tell(CollectiveUser& user, std::int32_t who);
  bool is_over() const;
  Time end() const;
  /// Of the program that ended last.
  const PlayedParts& parts() const;
  /// Throws InternalError when it is not over, though nothing is under way any more: a rank waits
  /// for a message that nobody sends. `collective`: whose programs these are, or null.
  void expect_over(const Collective* collective) const;

 private:
  void over(std::int32_t) override;

  std::vector<std::unique_ptr<ProgramPlayer>> players_;
  std::size_t programs_over_ = 0;
  CollectiveUser* user_ = nullptr;
  std::int32_t name_ = 0;  ///< the user's
};

/// How long a device takes to add up `bytes`.
Duration reduction_time(std::int64_t bytes, TimePerByte reduction);

}  // namespace steptime
