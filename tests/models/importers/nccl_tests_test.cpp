// Is the table the benchmark's, in the form that a collective of type "table" reads?
#include "tests/models/importers/import_text.h"
#include "tests/support/cluster.h"

#include <string>

#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr const char* kImporter = R"({"type": "nccl-tests"})";
constexpr const char* kText =
    "# nThread 1 nGpus 8\n"
    "#       size         count      type   redop     time   algbw   busbw\n"
    "#        (B)    (elements)                       (us)  (GB/s)  (GB/s)\n"
    "        2048           512     float     sum    30.00    0.07    0.12\n"
    "        1024           256     float     sum    21.50    0.05    0.08\n"
    "        2048           512     float     sum    50.00    0.07    0.12\n"
    "        2048           512     float     sum    31.00    0.07    0.12\n";

TEST(NcclTests, MakesATableOfMediansInOrderOfSize) {
  const Imported imported = make<Importer>(kImporter)->import(request_of(kText));
  EXPECT_FALSE(imported.trace);
  EXPECT_EQ(imported.table,
            "# source: a test\n# date: 2026\n# licence: none\n# device: gpu\n"
            "bytes,time_us\n1024,21.5\n2048,31\n");
}

TEST(NcclTests, OfTwoTimesTheMeanAndOfOneSizeNoTable) {
  const std::string head = "bytes,time_us\n8,1\n";
  EXPECT_TRUE(make<Importer>(kImporter)
                  ->import(request_of(head + "16,3\n16,5\n"))
                  .table.ends_with("8,1\n16,4\n"));
  const auto error = [](const std::string& text) {
    return message_of<InputError>([&] { make<Importer>(kImporter)->import(request_of(text)); });
  };
  EXPECT_EQ(error(head), "x.log: expected at least two sizes, got 1");
  EXPECT_EQ(error(""), "x.log: no measurement found");
}

}  // namespace
}  // namespace steptime
