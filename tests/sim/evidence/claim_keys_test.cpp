#include "sim/evidence/claim_keys.h"

#include "sim/config/json.h"
#include "sim/evidence/markdown.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(ClaimKeys, EachIsInTheKeyReference) {
  const std::string reference = read_file(STEPTIME_SOURCE_DIR "/docs/keys.md");
  const std::string section = reference.substr(reference.find("\n## Claims\n"));
  for (const Params& params : {claims_params(), claim_params(), measure_params(), order_params()}) {
    for (const Param& p : params)
      EXPECT_NE(section.find("\n| " + code(p.key) + " | "), std::string::npos) << p.key;
  }
}

}  // namespace
}  // namespace steptime
