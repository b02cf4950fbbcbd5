// The nodes of a Chakra execution trace, one after the other, in constant memory.
//
// ET: a GlobalMetadata message and then Node messages, each behind its length as a varint.
// JSON: {"workload_graph": [{"Id": 216, "Name": "...", "NodeType": 4, "runtime": 318, "data_deps":
// [], "is_cpu_op": true}, ...]}.
//
// Format: mlcommons/chakra schema/protobuf/et_def.proto, schema 1.0.1; the JSON of its feeder.
#pragma once
#include "models/importers/byte_stream.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace steptime {

struct ChakraNode {
  std::int64_t id = 0;
  std::string name;
  bool is_collective = false;
  bool is_host = false;           ///< an operator of the host, not what a device did
  std::int64_t operator_id = -1;  ///< the first it depends on: of a device's node, what launched it
  std::int64_t duration_us = -1;  ///< -1: not said
  std::int64_t comm_bytes = -1;
  std::int64_t comm_type = -1;  ///< CollectiveCommType
};

/// Opens the trace anew, from its beginning.
using OpenChakra = std::function<std::unique_ptr<ByteStream>()>;

/// Calls `on_node` for each node in the order of the file; returns "JSON" or "ET" with its schema.
/// Throws InputError.
std::string read_chakra_nodes(const OpenChakra& open,
                              const std::function<void(const ChakraNode&)>& on_node);

}  // namespace steptime
