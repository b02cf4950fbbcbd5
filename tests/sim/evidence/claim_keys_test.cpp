#include "sim/evidence/claim_keys.h"

#include "sim/config/json.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ClaimKeys, EachIsInTheKeyReference) {
  const std::string reference = read_file(STEPTIME_SOURCE_DIR "/configs/README.md");
  const std::string section = reference.substr(reference.find("\n## claims\n"));
  for (const Params& params : {claims_params(), claim_params(), measure_params(), order_params()}) {
    for (const Param& p : params) {
      EXPECT_TRUE(section.find("`" + p.key + "`") != std::string::npos ||
                  section.find('"' + p.key + '"') != std::string::npos)
          << p.key << " is not in configs/README.md";
    }
  }
}

}  // namespace
}  // namespace steptime
