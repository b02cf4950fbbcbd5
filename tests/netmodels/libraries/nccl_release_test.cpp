// Is the release of NCCL the one that is named, or that the GPUs say?
#include "netmodels/libraries/nccl_release.h"

#include <gtest/gtest.h>

namespace steptime {
namespace {

TEST(NcclRelease, IsReadFromItsNumbers) {
  EXPECT_EQ(nccl_release_number("2.28.9"), 2028009);
  EXPECT_EQ(nccl_release_number("2.19"), 2019000);
  for (const char* text : {"", "2", "2.", "2.x", "2.1.2.3", "-2.12", "2.1000"})
    EXPECT_EQ(nccl_release_number(text), -1) << text;
}

TEST(NcclRelease, RunsOnGpusThatItHasKernelsFor) {
  EXPECT_EQ(nccl_release_note(2012012, 90),
            "NCCL 2.12 has no kernels for GPUs of compute capability 9.0: the first release that "
            "has is 2.15");
  EXPECT_EQ(nccl_release_note(2015001, 90), "");
  EXPECT_NE(nccl_release_note(2024003, 100), "");
  EXPECT_EQ(nccl_release_note(2025001, 120), "");
  EXPECT_NE(nccl_release_note(2005007, 80), "");
  EXPECT_EQ(nccl_release_note(2007008, 86), "");
  EXPECT_EQ(nccl_release_note(2003007, 70), "");
}

}  // namespace
}  // namespace steptime
