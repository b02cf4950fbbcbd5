// Ways to the figures of a run that cost less than playing its programs and messages one by one.
// Each is exact where its condition holds, a property of the run, and a test compares it there with
// what it stands for. This table names all of them.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace steptime {

enum class FastPath : std::uint8_t {
  kOneStep,
  kRoundsInStep,
  kCollectivesAlone,
  kOneRankForAll,
  kEarliestStarts,
  kPeriodsLeftOut
};

struct FastPathRow {
  FastPath path;
  std::string_view what;
  std::string_view exact_where;
  std::string_view proof;  ///< "Suite.Test" of the test that compares both
};
std::span<const FastPathRow> fast_paths();

/// Whether the path is taken, which is exact as `is_exact` says.
bool takes(FastPath path, bool is_exact);

/// For tests: as long as one lives, no path is taken by this thread.
class WithoutFastPaths {
 public:
  WithoutFastPaths();
  ~WithoutFastPaths();
  WithoutFastPaths(const WithoutFastPaths&) = delete;
  WithoutFastPaths& operator=(const WithoutFastPaths&) = delete;
};

}  // namespace steptime
