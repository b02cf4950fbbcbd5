// The events of a Chrome trace as PyTorch's profiler (Kineto) writes it, one after the other.
//
//   {"schemaVersion": 1, "deviceProperties": [{"name": "Tesla V100", "numSms": 80, ...}, ...],
//    "distributedInfo": {"rank": 0, "world_size": 8, ...},
//    "traceEvents": [{"ph": "X", "cat": "kernel", "name": "...", "tid": 7, "ts": 12.5, "dur": 3,
//                     "args": {"correlation": 41246, ...}}, ...]}
//
// Format: pytorch/kineto libkineto/src/output_json.cpp; categories changed their names in PyTorch
// 1.12 ("Operator" became "cpu_op"), both are known. Times are microseconds, with up to three
// decimals since PyTorch 2.4.
#pragma once
#include "models/importers/byte_stream.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace steptime {

struct TraceEvent {
  enum class Category { kOther, kOperator, kRuntime, kKernel, kCopy, kSet, kModule, kAllocation };

  Category category = Category::kOther;
  std::string name;
  std::string thread;         ///< a thread of the host, or a stream of the device
  std::int64_t start_ns = 0;  ///< since any moment, the same for all events
  std::int64_t duration_ns = 0;
  std::int64_t correlation = -1;  ///< ties what a device does to the call that asked for it
  std::int64_t sequence = -1;     ///< autograd's number; a backward operator has its forward one's
  /// The thread that a backward operator's forward one ran on, else 0.
  std::int64_t forward_thread = 0;
  std::int64_t bytes = 0;        ///< allocated on `device_type`, or freed where negative
  std::int64_t device_type = 0;  ///< 1: CUDA
  /// Elements that a collective's kernel says it takes; -1: it says nothing.
  std::int64_t elements = -1;
  std::string collective;  ///< the collective that a kernel says it belongs to
  std::string dtype;       ///< type of the `elements`
  /// Shapes of an operator's arguments, [] if unknown.
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<std::string> types;  ///< types of the same arguments
};

/// What a trace says about itself.
struct TraceHeader {
  std::string device;                 ///< the name of device 0, or ""
  std::int64_t multiprocessors = -1;  ///< device 0 has
  std::int64_t rank = -1;             ///< -1: not said
  std::int64_t ranks = -1;
};

/// Reads a trace, and calls `on_event` for each event of a known category, in the order of the
/// file. Throws InputError.
TraceHeader read_trace_events(ByteStream& stream,
                              const std::function<void(const TraceEvent&)>& on_event);

}  // namespace steptime
