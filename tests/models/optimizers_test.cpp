// Are the optimizers those of the field, with what each must move at least?
#include "models/optimizers.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace steptime {
namespace {

// Gradient and weight are read and the weight is written, 3; each state is read and written, 2
// more.
TEST(Optimizers, MoveTheirState) {
  EXPECT_EQ(optimizer_named("sgd").values, 3);
  EXPECT_EQ(optimizer_named("sgd-momentum").values, 3 + 2);
  EXPECT_EQ(optimizer_named("adam").values, 3 + 2 * 2);
  // LAMB's norms read gradient, weight and update; the update is written, and read with the weight.
  EXPECT_EQ(optimizer_named("lamb").values, optimizer_named("adam").values + 3 + 3);
  EXPECT_EQ(optimizer_named("distributed-fused-adam").values, optimizer_named("adam").values);
  EXPECT_THROW(optimizer_named("adan"), std::out_of_range);
}

// Several kernels with results between them move no less than one.
TEST(Optimizers, SeveralKernelsMoveMore) {
  for (const char* name : {"sgd-momentum", "adam", "adamw"}) {
    const Optimizer& foreach_ = optimizer_named(std::string(name) + "-foreach");
    EXPECT_GT(foreach_.values, optimizer_named(name).values);
    EXPECT_EQ(foreach_.tensor_kernels, 0);
    const Optimizer& loop = optimizer_named(std::string(name) + "-loop");
    EXPECT_EQ(loop.values, foreach_.values);
    EXPECT_GT(loop.tensor_kernels, 1);
  }
  EXPECT_EQ(optimizer_names().size(), 13U);
}

}  // namespace
}  // namespace steptime
