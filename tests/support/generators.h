// Random workloads and collectives for properties. Ranges are those of real models: times up to
// seconds, sizes up to 100 MB. Small and zero values are frequent, because ties live there.
#pragma once
#include "sim/workload/workload.h"
#include "tests/support/fakes.h"

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rapidcheck.h>

namespace steptime {

/// How rapidcheck prints a counter-example.
inline void showValue(const Workload& workload, std::ostream& out) {
  out << workload.bytes_per_param << " bytes per value, " << write_trace(workload.trace);
}

inline void showValue(const std::vector<Gradient>& gradients, std::ostream& out) {
  for (const Gradient& g : gradients)
    out << g.backward.count() << " ps " << g.bytes << " B; ";
}

/// 0 to `most` ps, often zero or a few microseconds exactly, so that events coincide.
inline rc::Gen<Duration> any_duration(std::int64_t most) {
  const auto ps = [](std::int64_t count) { return Duration(count); };
  const auto us = [](std::int64_t count) { return Duration(count * 1'000'000); };
  return rc::gen::weightedOneOf<Duration>(
      {{1, rc::gen::just(Duration{})},
       {3, rc::gen::map(rc::gen::inRange<std::int64_t>(0, 6), us)},
       {4, rc::gen::map(rc::gen::inRange<std::int64_t>(0, most + 1), ps)}});
}

inline constexpr std::int64_t kLayerTime = 20'000'000'000;  // ps, 20 ms

/// Gradients of 1 to `most` layers, one tensor each, in the order in which they become ready.
inline rc::Gen<std::vector<Gradient>> any_gradients(int most) {
  return rc::gen::exec([most] {
    const auto count = rc::gen::resize(rc::kNominalSize, rc::gen::inRange(1, most + 1));
    std::vector<Gradient> gradients(static_cast<std::size_t>(*count));
    for (Gradient& g : gradients) {
      g.backward = *any_duration(kLayerTime);
      g.bytes = *rc::gen::inRange<std::int64_t>(1, 20'000);
    }
    return gradients;
  });
}

/// Layers with none, one or several tensors, forward times per layer or in all.
inline rc::Gen<Workload> any_workload(int most_layers) {
  return rc::gen::exec([most_layers] {
    Workload w{.trace = {.model = "random", .device = "random", .batch = 1},
               .bytes_per_param = *rc::gen::element<std::int64_t>(2, 4, 8)};
    const bool in_all = *rc::gen::arbitrary<bool>();
    if (in_all) w.trace.forward_total = *any_duration(kLayerTime);
    const int layers = *rc::gen::inRange(1, most_layers + 1);
    for (int i = 0; i < layers; ++i) {
      Layer layer{.name = fmt::format("l{}", i)};
      if (!in_all) layer.forward = *any_duration(kLayerTime);
      layer.backward = *any_duration(kLayerTime);
      const int tensors = *rc::gen::weightedElement<int>({{2, 0}, {4, 1}, {2, 2}, {1, 4}});
      for (int t = 0; t < tensors; ++t) {
        layer.tensors.push_back(
            {fmt::format("{}.{}", layer.name, t), *rc::gen::inRange<std::int64_t>(1, 1'000'000)});
      }
      w.trace.layers.push_back(std::move(layer));
    }
    return w;
  });
}

/// b is a whole number of picoseconds per byte: times are exact.
inline rc::Gen<LinearCost> exact_line() {
  return rc::gen::apply(
      [](Duration a, std::int64_t ps_per_byte) {
        return LinearCost{a, {to_seconds(Duration(ps_per_byte))}};
      },
      any_duration(kLayerTime), rc::gen::inRange<std::int64_t>(0, 2'000'000));
}

/// b is any real number.
inline rc::Gen<LinearCost> any_line() {
  return rc::gen::apply(
      [](Duration a, std::int64_t numerator) {
        return LinearCost{a, {static_cast<double>(numerator) / 3e18}};
      },
      any_duration(kLayerTime), rc::gen::inRange<std::int64_t>(0, 3'000'000'000'000));
}

inline void showValue(const LinearCost& cost, std::ostream& out) {
  out << cost.a.count() << " ps + " << cost.b.seconds_per_byte << " s/B";
}

/// Any cost that does not decrease with size: up to 8 jumps of any height.
struct Staircase {
  std::map<std::int64_t, Duration> jumps;  ///< from this size on, so much more
  CostFunction collective() const {
    return {Duration{}, [jumps = jumps](Bytes m) {
              Duration sum{};
              for (const auto& [size, jump] : jumps) {
                if (m.count >= size) sum += jump;
              }
              return sum;
            }};
  }
};
inline void showValue(const Staircase& cost, std::ostream& out) {
  for (const auto& [size, jump] : cost.jumps)
    out << "from " << size << " B " << jump.count() << " ps more; ";
}
/// Jumps at sizes from 1 to `most` bytes.
inline rc::Gen<Staircase> any_staircase(std::int64_t most) {
  return rc::gen::exec([most] {
    Staircase cost;
    const int jumps = *rc::gen::inRange(0, 9);
    for (int i = 0; i < jumps; ++i)
      cost.jumps[*rc::gen::inRange<std::int64_t>(1, most + 1)] = *any_duration(kLayerTime);
    return cost;
  });
}

}  // namespace steptime
