// Are both forms of a Chakra trace the same nodes, and is damage one line?
#include "models/importers/chakra_nodes.h"

#include "sim/core/error.h"
#include "tests/support/messages.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

namespace steptime {
namespace {

std::string with_length(const std::string& message) {
  std::string text;
  protozero::write_varint(std::back_inserter(text), message.size());
  return text + message;
}

std::string metadata() {
  std::string message;
  protozero::pbf_writer(message).add_string(1, "1.0.1");
  return with_length(message);
}

/// An all-reduce of 4096 B that operator 7 launched, 12 us.
std::string collective_node() {
  std::string size;
  protozero::pbf_writer attribute(size);
  attribute.add_string(1, "comm_size");
  attribute.add_int64(9, 4096);
  std::string message;
  protozero::pbf_writer node(message);
  node.add_uint64(1, 8);
  node.add_string(2, "ncclKernel_AllReduce");
  node.add_enum(3, 7);
  const std::vector<std::uint64_t> deps{7, 1};
  node.add_packed_uint64(5, deps.begin(), deps.end());
  node.add_uint64(7, 12);
  node.add_message(10, size);
  return with_length(message);
}

std::vector<ChakraNode> nodes(const std::string& text, std::string* form = nullptr) {
  std::vector<ChakraNode> read;
  const std::string f = read_chakra_nodes([&] { return std::make_unique<ByteStream>("x", text); },
                                          [&](const ChakraNode& node) { read.push_back(node); });
  if (form != nullptr) *form = f;
  return read;
}

std::string error(const std::string& text) {
  return message_of<InputError>([&] { nodes(text); });
}

TEST(ChakraNodes, BothFormsHaveTheSameFields) {
  std::string form;
  const auto et = nodes(metadata() + collective_node(), &form);
  EXPECT_EQ(form, "ET, schema 1.0.1");
  const auto json = nodes(
      R"({"workload_graph": [{"Id": 8, "Name": "ncclKernel_AllReduce", "NodeType": 7,
          "runtime": 12, "data_deps": [7, 1], "is_cpu_op": false}]})",
      &form);
  EXPECT_EQ(form, "JSON");
  for (const auto& read : {et, json}) {
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].id, 8);
    EXPECT_EQ(read[0].name, "ncclKernel_AllReduce");
    EXPECT_TRUE(read[0].is_collective);
    EXPECT_FALSE(read[0].is_host);
    EXPECT_EQ(read[0].operator_id, 7);
    EXPECT_EQ(read[0].duration_us, 12);
  }
  EXPECT_EQ(et[0].comm_bytes, 4096);
  EXPECT_EQ(json[0].comm_bytes, -1);
}

TEST(ChakraNodes, WhatIsNoTraceIsOneLine) {
  EXPECT_EQ(error(""), "x: byte 0: expected the length of a message, got the end of the file");
  EXPECT_EQ(error("{}"), "x: /workload_graph: required but missing: no Chakra trace");
  EXPECT_EQ(error("\x05"
                  "ab"),
            "x: byte 0: cut short: expected 5 B more, got 2");
  EXPECT_EQ(error("\xff\xff\xff\xff\xff\x01"),
            "x: byte 0: expected the length of a message, got a number of 2^35 or more");
  EXPECT_EQ(error("\xff\xff\xff\xff\x01"),
            "x: byte 0: a message of 536870911 B, expected at most 16777216");
  const std::string whole = metadata() + collective_node();
  EXPECT_EQ(error(whole.substr(0, whole.size() - 1)).substr(0, 2), "x:");
  EXPECT_TRUE(
      error(metadata() + "\x02\x0a\x7f").starts_with("x: byte 8: not a message of Chakra's: "));
}

}  // namespace
}  // namespace steptime
