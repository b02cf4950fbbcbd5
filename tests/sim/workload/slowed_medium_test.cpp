// Exchanges and what is computed beside them. One at a time:
// tests/sim/workload/shared_gpu_test.cpp.
#include "sim/workload/slowed_medium.h"

#include "tests/support/play.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// An exchange takes a picosecond for each of its bytes.
class BytesMedium final : public Medium {
 public:
  explicit BytesMedium(World& world) : world_(world) {}
  void start(Bytes bytes, Callback done) override {
    world_.engine.after(Duration(bytes.count), Phase::kComplete, [done] { done(); });
  }

 private:
  World& world_;
};

/// Work of so long by itself, from 0 on.
class Gpu final : public ComputingGpu {
 public:
  Gpu(World& world, Duration work) : world_(world), work_(work) {
    work_done_.begin(world.now(), 1);
    await();
  }
  bool computes() const override { return computes_; }
  Time end() const { return end_; }

 private:
  void change_speed() override {
    if (!computes_) return;
    work_done_.change(world_.now(), slowdown());
    world_.engine.cancel(event_);
    await();
  }
  void await() {
    event_ = world_.engine.at(work_done_.when(work_), Phase::kComplete, [this] {
      computes_ = false;
      end_ = world_.now();
      tell();
    });
  }
  World& world_;
  Duration work_;
  Progress work_done_;
  bool computes_ = true;
  Time end_{};
  EventId event_{};
};

// Work of 100 from 0, exchanges of 40 and 60 from 0. Beside both work takes four times as long, and
// an exchange twice: the first is over at 80, the second at 120. The work has 20 done at 80, 40 at
// 120, and is over at 180.
TEST(SlowedMedium, SeveralExchangesSlowOneGpuDown) {
  World world;
  Gpu gpu(world, Duration(100));
  SlowedMedium medium(world, std::make_unique<BytesMedium>(world),
                      [](Bytes) { return Slowdown{.compute = 2, .collective = 2}; }, {&gpu});
  std::vector<std::int64_t> ends;
  struct Told {
    World& world;
    std::vector<std::int64_t>& ends;
  } told{world, ends};
  const Callback done{[](void* self, std::uint64_t) {
                        auto* const to = static_cast<Told*>(self);
                        to->ends.push_back(since_start(to->world.now()).count());
                      },
                      &told, 0};
  world.engine.at(Time{}, Phase::kNormal, [&] {
    medium.start({40}, done);
    medium.start({60}, done);
  });
  world.run();
  EXPECT_EQ(ends, (std::vector<std::int64_t>{80, 120}));
  EXPECT_EQ(gpu.end(), Time(Duration(180)));
  EXPECT_EQ(gpu.lost(), Duration(40 + 60));
}

// Work of 50 from 0: an exchange of 40 has 25 done at 50, and the other 15 at 65.
TEST(SlowedMedium, AnExchangeGoesOnByItselfWhenTheWorkIsDone) {
  World world;
  Gpu gpu(world, Duration(50));
  SlowedMedium medium(world, std::make_unique<BytesMedium>(world),
                      [](Bytes) { return Slowdown{.compute = 1, .collective = 2}; }, {&gpu});
  Time end{};
  struct Told {
    World& world;
    Time& end;
  } told{world, end};
  world.engine.at(Time{}, Phase::kNormal, [&] {
    medium.start({40}, {[](void* self, std::uint64_t) {
                          auto* const to = static_cast<Told*>(self);
                          to->end = to->world.now();
                        },
                        &told, 0});
  });
  world.run();
  EXPECT_EQ(end, Time(Duration(65)));
}

}  // namespace
}  // namespace steptime
