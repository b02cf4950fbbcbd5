#include "sim/evidence/key_reference.h"

#include "sim/config/json.h"
#include "sim/config/registry.h"
#include "sim/evidence/claim_keys.h"
#include "sim/experiment/keys.h"
#include "tests/support/tiny_experiment.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// The other way round tests/docs/documents_test.py compares the program's page: here there are
// types of tests beside the shipped ones.
TEST(KeyReference, TheCommittedPageHasNothingElse) {
  const std::vector<std::string> written = lines_of(key_reference());
  auto at = written.begin();
  for (const std::string& line : lines_of(read_file(STEPTIME_SOURCE_DIR "/docs/keys.md"))) {
    const auto found = std::find(at, written.end(), line);
    ASSERT_NE(found, written.end()) << line << "\nsteptime schema --format markdown > docs/keys.md";
    at = found + 1;
  }
}

TEST(KeyReference, EveryKeySaysWhatItIs) {
  std::set<std::string> seen;
  int keys = 0;
  const std::function<void(const Params&, const std::string&)> check = [&](const Params& params,
                                                                           const std::string& of) {
    for (const Param& p : params) {
      if (p.key == "type") continue;
      ++keys;
      EXPECT_NE(p.help, "") << of << "/" << p.key;
      if (p.table != nullptr) check(p.table(), of + "/" + p.key);
      if (p.choice.empty() || !seen.insert(p.choice).second) continue;
      for (const auto& [name, item] : Catalogue::all().at(p.choice)->items())
        check(item.params, p.choice + " " + name);
    }
  };
  check(experiment_params(), "");
  EXPECT_GT(keys, 300);
  for (const Params& params : {claims_params(), claim_params(), measure_params(), order_params(),
                               map_params(), map_sizes_params(), map_row_params()})
    check(params, "claims");
}

TEST(KeyReference, TypesThatShareAKeyShareItsLine) {
  // Five schedules of eight have no key but the granularity that all of them have.
  const std::string page = key_reference();
  EXPECT_NE(page.find("\n| `granularity` | all | `tensor`, `layer` | `tensor` | "),
            std::string::npos);
  EXPECT_NE(page.find("\n| `capacity` | `fixed-buckets` | size | `25 MiB` | "), std::string::npos);
}

}  // namespace
}  // namespace steptime
