#include "models/importers/chakra_nodes.h"

#include "sim/config/json.h"
#include "sim/core/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

namespace steptime {
namespace {

constexpr std::size_t kMostText = 256;
constexpr std::size_t kMostLevels = 64;
constexpr std::int64_t kCollective = 7;           // NodeType COMM_COLL_NODE
constexpr std::int64_t kLongest = 1'000'000'000;  // us: sums stay in 63 bits
constexpr std::int64_t kMostBytes = std::int64_t{1} << 52;

using OnNode = std::function<void(const ChakraNode&)>;

/// Throws InputError for a number that no trace can hold.
void check(const ChakraNode& node, const std::string& file) {
  if (node.duration_us > kLongest) {
    throw InputError(fmt::format("{}: node {}: runtime {} us, expected at most {}", file, node.id,
                                 node.duration_us, kLongest));
  }
  if (node.comm_bytes > kMostBytes) {
    throw InputError(fmt::format("{}: node {}: a collective of {} B, expected at most 2^52", file,
                                 node.id, node.comm_bytes));
  }
}

/// The library calls it as it reads. Containers are counted: 1 is the root, 2 the list of nodes, 3
/// a node, 4 a list in it.
class NodeHandler {
 public:
  NodeHandler(ByteStream& stream, const OnNode& on_node) : stream_(stream), on_node_(on_node) {}

  bool has_nodes() const { return has_nodes_; }

  bool null() { return true; }
  bool boolean(bool value) {
    if (in_node() && keys_[3] == "is_cpu_op") node_.is_host = value;
    return true;
  }
  bool number_integer(std::int64_t) { return true; }  // all that counts is not negative
  bool number_unsigned(std::uint64_t value) {
    stream_.mark();
    const auto number = static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
    if (in_node()) {
      if (keys_[3] == "Id") node_.id = number;
      if (keys_[3] == "NodeType") node_.is_collective = number == kCollective;
      if (keys_[3] == "runtime") node_.duration_us = number;
    } else if (depth_ == 4 && keys_[1] == "workload_graph" && keys_[3] == "data_deps" &&
               node_.operator_id < 0) {
      node_.operator_id = number;
    }
    return true;
  }
  bool number_float(double, const std::string&) { return true; }
  bool string(std::string& value) {
    stream_.mark();
    if (in_node() && keys_[3] == "Name") node_.name = one_line(value.substr(0, kMostText));
    return true;
  }
  bool binary(Json::binary_t&) { return true; }
  bool key(std::string& value) {
    stream_.mark();
    keys_[depth_] = value.substr(0, kMostText);
    return true;
  }
  bool start_object(std::size_t) {
    open();
    if (in_node()) node_ = {};
    return true;
  }
  bool end_object() {
    if (in_node()) {
      check(node_, stream_.file());
      on_node_(node_);
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t) {
    if (depth_ == 1 && keys_[1] == "workload_graph") has_nodes_ = true;
    open();
    return true;
  }
  bool end_array() {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const Json::exception& e) {
    std::string_view reason = e.what();
    if (const auto at = reason.find("- "); at != reason.npos) reason.remove_prefix(at + 2);
    throw InputError(fmt::format("{}: byte {}: not JSON: {}", stream_.file(), byte,
                                 one_line(std::string(reason.substr(0, 100)))));
  }

 private:
  bool in_node() const { return depth_ == 3 && keys_[1] == "workload_graph"; }
  void open() {
    stream_.mark();
    if (++depth_ >= kMostLevels) {
      throw InputError(
          fmt::format("{}: nested deeper than {} levels", stream_.file(), kMostLevels));
    }
    keys_[depth_].clear();
  }

  ByteStream& stream_;
  const OnNode& on_node_;
  ChakraNode node_;
  std::array<std::string, kMostLevels> keys_;  ///< by depth
  std::size_t depth_ = 0;
  bool has_nodes_ = false;
};

/// A field and its wire type, which protozero leaves to the reader to check.
constexpr std::uint32_t number_field(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t bytes_field(std::uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited);
}

/// AttributeProto: a name, and a value in the field of its type.
struct Attribute {
  std::string name;
  std::int64_t number = -1;
  std::string text;
};

Attribute attribute(protozero::pbf_reader message) {
  Attribute a;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case bytes_field(1):
        a.name = message.get_string();
        break;
      case number_field(7):   // int32
      case number_field(9):   // int64
      case number_field(11):  // uint32
      case number_field(13):  // uint64
      case number_field(27):  // bool
        a.number = message.get_int64();
        break;
      case bytes_field(29):
        a.text = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return a;
}

std::string schema(protozero::pbf_reader metadata) {
  std::string version;
  while (metadata.next()) {
    if (metadata.tag_and_type() == bytes_field(1)) {
      version = metadata.get_string();
    } else if (metadata.tag_and_type() == bytes_field(2)) {
      const Attribute a = attribute(metadata.get_message());
      if (a.name == "schema" && version.empty()) version = a.text;
    } else {
      metadata.skip();
    }
  }
  return one_line(version.substr(0, kMostText));
}

ChakraNode node(protozero::pbf_reader message) {
  ChakraNode n;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case number_field(1):
        n.id = message.get_int64();
        break;
      case bytes_field(2):
        n.name = one_line(message.get_string().substr(0, kMostText));
        break;
      case number_field(3):
        n.is_collective = message.get_int64() == kCollective;
        break;
      case number_field(5): {
        const std::int64_t each = message.get_int64();
        if (n.operator_id < 0) n.operator_id = each;
        break;
      }
      case bytes_field(5): {
        const auto all = message.get_packed_int64();
        if (n.operator_id < 0 && !all.empty()) n.operator_id = *all.begin();
        break;
      }
      case number_field(7):
        n.duration_us = message.get_int64();
        break;
      case bytes_field(10): {
        const Attribute a = attribute(message.get_message());
        if (a.name == "is_cpu_op") n.is_host = a.number == 1;
        if (a.name == "comm_size") n.comm_bytes = a.number;
        if (a.name == "comm_type") n.comm_type = a.number;
        break;
      }
      default:
        message.skip();
    }
  }
  return n;
}

/// The next message, which stands behind its length.
std::string next_message(ByteStream& stream) {
  const std::uint64_t place = stream.position();
  std::uint64_t length = 0;
  for (int shift = 0;; shift += 7) {
    if (stream.at_end() || shift > 28) {
      throw InputError(
          fmt::format("{}: byte {}: expected the length of a message, got {}", stream.file(), place,
                      shift > 28 ? "a number of 2^35 or more" : "the end of the file"));
    }
    const auto byte = static_cast<unsigned char>(stream.get());
    length |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) break;
  }
  if (length > ByteStream::kMostValue) {
    throw InputError(fmt::format("{}: byte {}: a message of {} B, expected at most {}",
                                 stream.file(), place, length, ByteStream::kMostValue));
  }
  std::string message = stream.read(length);
  if (message.size() < length) {
    throw InputError(fmt::format("{}: byte {}: cut short: expected {} B more, got {}",
                                 stream.file(), place, length, message.size()));
  }
  stream.mark();
  return message;
}

std::string read_et(ByteStream& stream, const OnNode& on_node) {
  std::string version;
  for (bool is_first = true; is_first || !stream.at_end(); is_first = false) {
    const std::uint64_t place = stream.position();
    const std::string message = next_message(stream);
    try {
      if (is_first) {
        version = schema(protozero::pbf_reader(message));
        continue;
      }
      const ChakraNode n = node(protozero::pbf_reader(message));
      check(n, stream.file());
      on_node(n);
    } catch (const protozero::exception& e) {
      throw InputError(fmt::format("{}: byte {}: not a message of Chakra's: {}", stream.file(),
                                   place, e.what()));
    }
  }
  return "ET" + (version.empty() ? "" : ", schema " + version);
}

/// An ET's first message may be 123 bytes long, which is a brace, but none of its fields is a
/// quote.
bool is_json(ByteStream& stream) {
  const std::string start = stream.read(64);
  const auto brace = start.find_first_not_of(" \t\r\n");
  if (brace == start.npos || start[brace] != '{') return false;
  const auto next = start.find_first_not_of(" \t\r\n", brace + 1);
  return next == start.npos || start[next] == '"' || start[next] == '}';
}

}  // namespace

std::string read_chakra_nodes(const OpenChakra& open, const OnNode& on_node) {
  const bool json = is_json(*open());
  const std::unique_ptr<ByteStream> stream = open();
  if (!json) return read_et(*stream, on_node);
  NodeHandler handler(*stream, on_node);
  Json::sax_parse(ByteIterator(*stream), ByteIterator(), &handler);
  if (!handler.has_nodes()) {
    throw InputError(stream->file() + ": /workload_graph: required but missing: no Chakra trace");
  }
  return "JSON";
}

}  // namespace steptime
