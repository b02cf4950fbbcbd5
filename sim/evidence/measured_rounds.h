// Measurements of whole operations, round by round, as `steptime calibrate mpi` writes them and
// `steptime calibrate fit` reads them:
//
//   {"format": "steptime-measurements", "version": 1, "nodes": 4, "provenance": {...},
//    "series": [{"operation": "all-reduce", "ranks": 4,
//                "sizes": [{"bytes": 4, "seconds": [1.1e-4, 1.0e-4, ...]}, ...]}, ...]}
//
// Entry r of every list was measured in round r, in which all sizes followed one another.
#pragma once
#include "sim/config/json.h"
#include "sim/evidence/curve_fit.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace steptime {

/// Operations that are measured beside the collectives of nccl-tests: half of a round trip between
/// two ranks, adding up in the host's memory, and in a GPU's with a block on each multiprocessor; a
/// copy between two GPUs, and from host memory that cannot be swapped out.
inline constexpr const char* kPingPong = "ping-pong";
inline constexpr const char* kHostSum = "host-sum";
inline constexpr const char* kGpuSum = "GPU sum";
inline constexpr const char* kPeerCopy = "copy GPU 0 to 1";
inline constexpr const char* kPinnedCopy = "copy to GPU, pinned";

struct MeasuredSeries {
  std::string operation;
  std::int64_t ranks = 0;
  std::vector<SizeTimes> sizes;
};

struct MeasuredRounds {
  std::int64_t nodes = 1;
  Json provenance = Json::object();
  std::vector<MeasuredSeries> series;
};

Json rounds_json(const MeasuredRounds& rounds);
/// Throws InputError.
MeasuredRounds parse_rounds(const std::string& text, const std::string& file);
/// Whether the text is of this format; other tables are not.
bool is_rounds(const std::string& text);

/// What is asked of tables that benchmarks print; "" and 0: what they say themselves.
struct TableRequest {
  std::string operation{};
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
};
/// Of one operation on one number of ranks; 0: neither the tables nor the request say how many.
struct TableRounds {
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
  std::vector<SizeTimes> sizes;
};
/// Tables that benchmarks print (sim/evidence/measurements.h), each of which is a round, or several
/// where it has each size several times. Throws InputError for what is of another operation or of
/// other ranks than is asked, or than other tables are.
TableRounds rounds_of_tables(std::span<const std::string> paths, const TableRequest& request);
inline std::vector<SizeTimes> rounds_of_tables(std::span<const std::string> paths) {
  return rounds_of_tables(paths, {}).sizes;
}

}  // namespace steptime
