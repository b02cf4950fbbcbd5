// A measured collective, however noisy its table: time does not fall with size.
#include "sim/collective/collective.h"
#include "sim/network/cluster.h"
#include "tests/support/config_text.h"
#include "tests/support/scratch_file.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace steptime {
namespace {

RC_GTEST_PROP(Table, DoesNotDecrease, ()) {
  const auto size = rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  std::set<std::int64_t> sizes{*size, *size, 1'000'000'000};
  const int more = *rc::gen::inRange(0, 20);
  for (int i = 0; i < more; ++i)
    sizes.insert(*size);
  std::string csv = "bytes,time_us\n";
  for (const std::int64_t bytes : sizes) {
    // Tenths of a microsecond, up to minutes: where a double's last digit is below a picosecond and
    // where it is not.
    const auto tenths = *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 10'000'000),
                                        rc::gen::inRange<std::int64_t>(0, 40'000'000'000));
    csv += fmt::format("{},{}.{}\n", bytes, tenths / 10, tenths % 10);
  }
  RC_LOG(csv);
  const ScratchFile file("t.csv", csv);
  const auto table =
      make<Collective>(fmt::format(R"({{"type": "table", "file": "{}"}})", file.path()), Cluster{});

  // At every row and next to it, in between, and beyond both ends.
  std::vector<std::int64_t> probes{0, 1, 2'000'000'000};
  for (const std::int64_t bytes : sizes) {
    for (const std::int64_t near : {bytes - 1, bytes, bytes + 1})
      probes.push_back(std::max<std::int64_t>(near, 0));
  }
  for (int i = 0; i < 20; ++i)
    probes.push_back(*size);
  std::sort(probes.begin(), probes.end());
  Duration before{};
  for (const std::int64_t bytes : probes) {
    const Duration time = table->time(Bytes{bytes});
    RC_ASSERT(time >= before);
    before = time;
  }
}

}  // namespace
}  // namespace steptime
