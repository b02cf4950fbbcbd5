// Does the record's file give its rows back, and name what it cannot read?
#include "sim/core/error.h"
#include "sim/experiment/track_record.h"
#include "tests/support/messages.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

RecordRow row(const std::string& id, const std::string& gpu) {
  return {.id = id,
          .testbed = "B",
          .kind = {.words = {"PyTorch 2", "measured", gpu, "NCCL 2.5", "tcp",
                             "all-reduce, fixed-buckets", "ResNet", "several"},
                   .rate = 10e9 / 8},
          .workers = 8,
          .gpus_per_node = 4,
          .samples = 32,
          .latency_us = 20,
          .share = 0.5,
          .error_pct = 9.42,
          .unexplained_pct = -3};
}

TEST(RecordText, GivesTheRowsBack) {
  const std::vector<RecordRow> rows{row("1", "Volta"), row("2", "Pascal")};
  const auto read = parse_record(record_text(rows), "r.jsonl");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(record_text(read), record_text(rows));
  EXPECT_EQ(read[1].id, "2");
  EXPECT_EQ(read[1].testbed, "B");
  EXPECT_EQ(read[1].kind, rows[1].kind);
  EXPECT_EQ(read[1].error_pct, 9.42);
}

TEST(RecordText, NamesTheLineThatIsNoRow) {
  EXPECT_EQ(message_of<InputError>([] { parse_record("{\"id\": 1}\n", "r.jsonl"); }),
            "r.jsonl:1: /framework: required but missing");
}

}  // namespace
}  // namespace steptime
