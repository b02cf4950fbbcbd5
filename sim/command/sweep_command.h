// What `sweep` and `merge` do, by one process or by several that share the points.
#pragma once
#include "sim/command/verbs.h"
#include "sim/sweeps/shard.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace steptime {

struct SweepRequest {
  std::string config;
  std::vector<std::string> sets;
  std::string format;  ///< the form of what goes to the terminal
  std::string folder;  ///< "": no files
  int threads = 1;
  bool full = false;
  bool strict = false;
  bool resume = false;
  std::string emit;        ///< the job script to print instead; "": none
  std::int64_t tasks = 0;  ///< tasks of the job whose script is printed
  bool simulates = true;   ///< else the files have all points, or it is an error
  SweepShard shard;
};

/// The processes that share a sweep's points. Left as it is: one process.
struct SweepCrew {
  std::int64_t member = 0;  ///< from 0
  std::int64_t members = 1;
  /// Takes `count` of the numbers 0, 1, 2, ..., each of which one member gets: returns the first.
  std::function<std::int64_t(std::int64_t count)> take;
  /// The first member's text, on all. Every member calls it, in the same order.
  std::function<std::string(const std::string& text)> first_ones;
  /// The sum over the members, on all.
  std::function<std::int64_t(std::int64_t value)> sum;
};

/// The options of `sweep`; nullopt when --help was asked for.
std::optional<SweepRequest> parse_sweep(const Verb& verb, std::span<const std::string> args,
                                        const Terminal& terminal, const Environment& environment);

/// Throws InputError.
Exit run_sweep_command(const SweepRequest& request, const Terminal& terminal,
                       const SweepCrew& crew = {});

}  // namespace steptime
