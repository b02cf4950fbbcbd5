// Is what differing in an attribute costs that of kinds which differ in it alone?
#include "sim/experiment/attribute_spread.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

RecordRow row(const std::string& testbed, const std::string& gpu, const std::string& model,
              double log_error) {
  RecordRow row{.id = testbed + gpu + model,
                .testbed = testbed,
                .error_pct = std::expm1(log_error) * 100,
                .unexplained_pct = std::expm1(log_error) * 100};
  row.kind[Attribute::kGpu] = gpu;
  row.kind[Attribute::kModel] = model;
  row.kind[Attribute::kNodes] = "one";
  row.kind.rate = 1e9;
  return row;
}

double d_of(const std::vector<RecordRow>& rows, Attribute a) {
  return attribute_spreads(rows)[static_cast<std::size_t>(a)].d;
}

// On A the two generations differ by 0.3, on B by 0.1: d = 1.96 sqrt((0.09 + 0.01) / 2). Two models
// of one generation differ by 0.2 on A; B has none, so that one testbed tells too little, and the
// pair of A's and B's ResNet counts, which share a model and so tell nothing: 1.96 x 0.2.
TEST(AttributeSpread, IsTheRootMeanSquareOverTestbeds) {
  const std::vector<RecordRow> rows{
      row("A", "Volta", "ResNet", 0), row("A", "Kepler", "ResNet", 0.3),
      row("A", "Volta", "BERT", 0.2), row("B", "Volta", "ResNet", 0.1),
      row("B", "Kepler", "ResNet", 0.2)};
  EXPECT_NEAR(d_of(rows, Attribute::kGpu), 1.96 * std::sqrt(0.05), 1e-12);
}

// Rows of one cell count by their mean: (0.1 + 0.3) / 2 - 0 = 0.2.
TEST(AttributeSpread, TakesTheMeanOfAKind) {
  const std::vector<RecordRow> rows{
      row("A", "Volta", "ResNet", 0.1), row("A", "Volta", "ResNet", 0.3),
      row("A", "Kepler", "ResNet", 0), row("B", "Volta", "ResNet", 0.2),
      row("B", "Kepler", "ResNet", 0)};
  EXPECT_NEAR(d_of(rows, Attribute::kGpu), 1.96 * 0.2, 1e-12);
}

// No testbed has two models: those of A and B, which differ in nothing else, tell, by 0.4.
TEST(AttributeSpread, IsThatBetweenTestbedsWhereNoneTellsIt) {
  const std::vector<RecordRow> rows{row("A", "Volta", "ResNet", 0), row("B", "Volta", "BERT", 0.4)};
  const auto spreads = attribute_spreads(rows);
  const AttributeSpread& model = spreads[static_cast<std::size_t>(Attribute::kModel)];
  EXPECT_NEAR(model.d, 1.96 * 0.4, 1e-12);
  EXPECT_TRUE(model.is_between_testbeds);
  EXPECT_EQ(model.testbeds, std::vector<std::string>{"A and B"});
  // Of the framework nobody tells: the largest of the others.
  EXPECT_DOUBLE_EQ(spreads[static_cast<std::size_t>(Attribute::kFramework)].d, model.d);
  EXPECT_TRUE(spreads[static_cast<std::size_t>(Attribute::kFramework)].testbeds.empty());
}

// What has several nodes has another fabric between them than a single one inside: still a
// difference in the nodes alone.
TEST(AttributeSpread, ANodeHasAFabricOfItsOwn) {
  std::vector<RecordRow> rows{row("A", "Volta", "ResNet", 0), row("A", "Volta", "ResNet", 0.2),
                              row("B", "Volta", "ResNet", 0), row("B", "Volta", "ResNet", 0.2)};
  for (const std::size_t i : {1, 3}) {
    rows[i].kind[Attribute::kNodes] = "several";
    rows[i].kind[Attribute::kFabric] = "tcp";
  }
  EXPECT_NEAR(d_of(rows, Attribute::kNodes), 1.96 * 0.2, 1e-12);
}

}  // namespace
}  // namespace steptime
