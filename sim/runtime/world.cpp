#include "sim/runtime/world.h"

#include "sim/core/error.h"
#include "sim/network/network.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::size_t kUnit = 64;  // bytes, of the sizes of frames

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
  constexpr std::uint64_t kBatch = 1 << 12;  // in a long run the only sign of life for a while
  while (engine.run(kBatch) == kBatch) {
    if (report) report();
  }
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

void World::expect_over(std::size_t most) const {
  const std::vector<Stuck> all = stuck();
  if (all.empty()) return;
  std::vector<std::string> lines;
  for (const Stuck& each : all) {
    if (lines.size() < most) lines.push_back(fmt::format("{} waits for {}", each.who, each.why));
  }
  if (all.size() > most) lines.push_back(fmt::format("and {} more", all.size() - most));
  throw ModelFailure(fmt::format("deadlock after {} s: nothing happens any more, but\n  {}",
                                 to_seconds(since_start(now())), fmt::join(lines, "\n  ")));
}

}  // namespace steptime
