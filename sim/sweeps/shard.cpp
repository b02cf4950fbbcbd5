#include "sim/sweeps/shard.h"

#include "sim/config/json.h"
#include "sim/config/text_lines.h"
#include "sim/core/error.h"

#include <cstdlib>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::int64_t kMostShards = 1'000'000;

std::optional<std::int64_t> value(const Environment& environment, const char* name) {
  const char* const text = environment(name);
  if (text == nullptr) return std::nullopt;
  const auto number = number_in<std::int64_t>(text);
  if (!number || *number < 0) {
    throw InputError(
        fmt::format("--shard: {}: expected a whole number, got {}", name, brief(text)));
  }
  return number;
}

struct Place {
  std::int64_t index = 0;  ///< from 0
  std::int64_t count = 0;
};

/// Of a task in a Slurm array, whose numbers may begin anywhere and have gaps of one size.
std::optional<Place> in_array(const Environment& environment) {
  const auto task = value(environment, "SLURM_ARRAY_TASK_ID");
  const auto count = value(environment, "SLURM_ARRAY_TASK_COUNT");
  if (!task || !count) return std::nullopt;
  const std::int64_t first = value(environment, "SLURM_ARRAY_TASK_MIN").value_or(0);
  const std::int64_t last = value(environment, "SLURM_ARRAY_TASK_MAX").value_or(*task);
  const std::int64_t step = *count > 1 ? (last - first) / (*count - 1) : 1;
  if (*count < 1 || step < 1 || first + step * (*count - 1) != last ||
      (*task - first) % step != 0) {
    throw InputError(
        "--shard: auto: the tasks of this Slurm array are not evenly spaced; expected one such as "
        "--array=1-8");
  }
  return Place{(*task - first) / step, *count};
}

std::optional<Place> of(const Environment& environment, const char* index, const char* count) {
  const auto i = value(environment, index);
  const auto n = value(environment, count);
  if (!i || !n) return std::nullopt;
  return Place{*i, *n};
}

/// Among the processes that were started together.
std::optional<Place> among_tasks(const Environment& environment) {
  if (const auto place = of(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
    return place;
  if (const auto place = of(environment, "PMI_RANK", "PMI_SIZE")) return place;
  // A batch script has SLURM_PROCID, too, but no step.
  return of(environment, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
}

SweepShard checked(std::int64_t number, std::int64_t count) {
  if (count < 1 || count > kMostShards)
    throw InputError(fmt::format("--shard: expected 1 to {} shards, got {}", kMostShards, count));
  if (number < 1 || number > count) {
    throw InputError(fmt::format("--shard: expected a number from 1 to {}, got {}", count, number));
  }
  return {number, count};
}

}  // namespace

Environment process_environment() {
  return [](const char* name) { return std::getenv(name); };
}

SweepShard parse_shard(const std::string& text, const Environment& environment) {
  const auto slash = text.find('/');
  std::optional<std::int64_t> count;
  if (slash != std::string::npos)
    count = number_in<std::int64_t>(std::string_view(text).substr(slash + 1));
  if (slash != std::string::npos && text.substr(0, slash) != "auto") {
    const auto number = number_in<std::int64_t>(std::string_view(text).substr(0, slash));
    if (number && count) return checked(*number, *count);
  }
  if (text.substr(0, slash) != "auto" || (slash != std::string::npos && !count)) {
    throw InputError(
        fmt::format("--shard: expected such as 2/8, auto or auto/8, got {}", brief(text)));
  }
  const auto array = in_array(environment);
  const auto tasks = among_tasks(environment);
  if (array || tasks) {
    const Place outer = array.value_or(Place{0, 1});
    const Place inner = tasks.value_or(Place{0, 1});
    const Place place{outer.index * inner.count + inner.index, outer.count * inner.count};
    if (count && *count != place.count) {
      throw InputError(fmt::format("--shard: {}: {} tasks were started", text, place.count));
    }
    return checked(place.index + 1, place.count);
  }
  // These know their own number, but not how many there are. They count from 0 or from 1.
  for (const char* name : {"JOB_COMPLETION_INDEX", "PARALLEL_SEQ", "HQ_TASK_ID"}) {
    const auto index = value(environment, name);
    if (!index) continue;
    if (!count) {
      throw InputError(fmt::format(
          "--shard: auto: {} does not say how many there are; expected such as auto/8", name));
    }
    checked(1, *count);
    return {*index % *count + 1, *count};
  }
  throw InputError(
      "--shard: auto: neither Slurm, Open MPI, PMI, Kubernetes, GNU parallel nor HyperQueue says "
      "which one this is; expected such as 2/8");
}

std::int64_t ranks_of(const Environment& environment) {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    if (const auto size = value(environment, name)) return *size;
  }
  // srun --mpi=pmix gives no size of its own.
  if (environment("PMIX_RANK") == nullptr) return 1;
  return value(environment, "SLURM_STEP_NUM_TASKS").value_or(1);
}

}  // namespace steptime
