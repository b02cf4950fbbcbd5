#include "sim/runtime/world.h"

#include "sim/core/error.h"
#include "sim/network/network.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::size_t kUnit = 64;          // bytes, of the sizes of frames
constexpr std::uint64_t kBatch = 1 << 12;  // of events: in a long run the only signs of life

/// Frames that are free, by size; they go with the thread of the machine that they were taken by.
struct FreeFrames {
  std::array<void*, 32> first{};
  ~FreeFrames() {
    for (void* frame : first) {
      while (frame != nullptr)
        ::operator delete(std::exchange(frame, *static_cast<void**>(frame)));
    }
  }
};
thread_local FreeFrames free_frames;

std::size_t size_class(std::size_t bytes) {
  return (bytes + kUnit - 1) / kUnit;
}

}  // namespace

void* Frames::take(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  if (size >= free_frames.first.size()) return ::operator new(bytes);
  void*& first = free_frames.first[size];
  if (first == nullptr) return ::operator new(size* kUnit);
  return std::exchange(first, *static_cast<void**>(first));
}

void Frames::give(void* frame, std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  if (size >= free_frames.first.size()) return ::operator delete(frame);
  *static_cast<void**>(frame) = std::exchange(free_frames.first[size], frame);
}

std::string Name::text() const {
  std::string text = what;
  if (number >= 0) text += fmt::format(" {}", number);
  if (*of != '\0') text += fmt::format(" of {}", of);
  if (of_number >= 0) text += fmt::format(" {}", of_number);
  return text;
}

World::World(Causes* causes) : engine(causes) {}

World::~World() {
  while (first_ != nullptr)
    end(static_cast<Live&>(*first_));
}

Network& World::connect(const Routes& routes, const MessageOptions& options) {
  STEPTIME_CHECK(network_ == nullptr, "a run has one network");
  network_ = std::make_unique<Network>(engine, routes, options);
  return *network_;
}

Suspended World::adopt(Name name, Task& process, bool serves) {
  const Suspended program = std::exchange(process.handle_, nullptr);
  auto* const live = new (Frames::take(sizeof(Live))) Live{{name}, program};
  live->serves = serves;
  ++(serves ? serving_ : others_);
  is_served_ = is_served_ && serves;
  live->after = first_;
  if (first_ != nullptr) first_->before = live;
  first_ = live;
  program.promise().thread = live;
  program.promise().world = this;
  return program;
}

void World::end(Live& live) {
  (live.before != nullptr ? live.before->after : first_) = live.after;
  if (live.after != nullptr) live.after->before = live.before;
  const Suspended program = live.program;
  --(live.serves ? serving_ : others_);
  is_served_ = is_served_ || (others_ == 0 && !live.serves);
  live.~Live();
  Frames::give(&live, sizeof(Live));
  program.destroy();
}

void World::spawn(Name name, Task process, When when, bool serves) {
  wake(adopt(name, process, serves), when);
}

void World::start(Name name, Task process) {
  resume(adopt(name, process, false));
}

void World::run(const std::function<void()>& report) {
  Time instant = now();
  std::uint64_t at_once = 0;  // events, in batches in which no time has passed
  while (run_batch()) {
    if (report) report();
    at_once = now() == instant ? at_once + kBatch : 0;
    instant = now();
    if (at_once >= std::max(kMostAtOnce, 1000 * std::uint64_t{others_ + serving_}))
      expect_time_to_pass(at_once);
  }
}

/// False when the run is over.
bool World::run_batch() {
  if (serving_ == 0) return engine.run(kBatch) == kBatch;
  for (std::uint64_t i = 0; i < kBatch; ++i) {
    if (is_served_ || !engine.step()) return false;
  }
  if (!waits_for_service()) return true;
  if (others_ == 0) return false;
  throw ModelFailure(fmt::format("deadlock after {} s: only threads that serve go on, but\n  {}",
                                 to_seconds(since_start(now())), waiting(8)));
}

/// Whether for long only threads that serve have gone on, and nothing else can happen.
bool World::waits_for_service() {
  bool all_wait = engine.pending() <= serving_ && !engine.has_items();
  std::uint64_t waits = others_;
  for (const Thread* thread = first_; all_wait && thread != nullptr; thread = thread->after) {
    if (thread->serves) continue;
    all_wait = thread->waits_for != nullptr;
    waits += thread->waits;
  }
  idle_ = all_wait && waits == last_waits_ ? idle_ + kBatch : 0;
  last_waits_ = waits;
  return idle_ >= kMostAtOnce;
}

/// Behind so many events at one instant it runs on for a while, to tell who does.
void World::expect_time_to_pass(std::uint64_t events) {
  const Time instant = now();
  woken_.emplace();
  const bool is_stuck = engine.run(kBatch) == kBatch && now() == instant;
  std::vector<std::string> names = *std::exchange(woken_, std::nullopt);
  if (!is_stuck) return;
  std::ranges::sort(names);  // where the run is looked at is chance
  constexpr std::size_t kMostNames = 8;
  if (names.size() > kMostNames) {
    names[kMostNames] = fmt::format("and {} more", names.size() - kMostNames);
    names.resize(kMostNames + 1);
  }
  throw ModelFailure(
      fmt::format("no time passes after {} s: {} million events at one instant, of\n  {}",
                  to_seconds(since_start(instant)), events / 1'000'000,
                  names.empty() ? "no program" : fmt::format("{}", fmt::join(names, "\n  "))));
}

void World::note_woken(Suspended program, When when) {
  if (when.time != now()) return;
  std::string name = program.promise().thread->name.text();
  if (std::ranges::find(*woken_, name) == woken_->end()) woken_->push_back(std::move(name));
}

std::vector<World::Stuck> World::stuck() const {
  std::vector<Stuck> list;
  for (const Thread* thread = first_; thread != nullptr; thread = thread->after) {
    if (thread->serves) continue;
    const Awaited* const on = thread->waits_for;
    list.push_back({thread->name.text(), on == nullptr ? "nothing" : on->tell(thread->needs)});
  }
  std::reverse(list.begin(), list.end());
  return list;
}

/// Who, and for what; the first `most` of them.
std::string World::waiting(std::size_t most) const {
  const std::vector<Stuck> all = stuck();
  std::vector<std::string> lines;
  for (const Stuck& each : all) {
    if (lines.size() < most) lines.push_back(fmt::format("{} waits for {}", each.who, each.why));
  }
  if (all.size() > most) lines.push_back(fmt::format("and {} more", all.size() - most));
  return fmt::format("{}", fmt::join(lines, "\n  "));
}

void World::expect_over(std::size_t most) const {
  if (others_ == 0) return;
  throw ModelFailure(fmt::format("deadlock after {} s: nothing happens any more, but\n  {}",
                                 to_seconds(since_start(now())), waiting(most)));
}

}  // namespace steptime
