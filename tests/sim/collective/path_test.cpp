// Is a collective's path told as people read it?
#include "sim/collective/path.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(CollectivePath, IsToldInWords) {
  EXPECT_EQ(path_text({}), "");
  EXPECT_EQ(path_text({.links = "12 rings over NVLink", .adapters = 8, .rules = "NCCL 2.20.5"}),
            "12 rings over NVLink, 8 adapters a node (NCCL 2.20.5)");
  EXPECT_EQ(path_text({.adapters = 1}), "1 adapter a node");
  EXPECT_EQ(path_text({.rules = "NCCL 2.3.7"}), "(NCCL 2.3.7)");
}

}  // namespace
}  // namespace steptime
