// What an import keeps of a PyTorch trace: small records of the events that decide where a kernel
// belongs, so that traces of any size fit into little memory.
//
// Scope: a trace with more events than kMostRecords is read twice, and of it the last steps that
// fit are kept (the profiler marks steps as ProfilerStep#N).
#pragma once
#include "models/importers/byte_stream.h"
#include "models/importers/trace_events.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace steptime {

/// Texts by dense number. Throws InputError when there are too many to keep.
class Names {
 public:
  Names() = default;
  Names(Names&&) = default;  // texts point into the map, whose elements stay where they are
  Names& operator=(Names&&) = default;
  std::uint32_t number(const std::string& text, const std::string& file);
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<const std::string*> texts_;
  std::size_t bytes_ = 0;
};

/// An operator of the host, or another span of it that kernels are assigned by.
struct HostSpan {
  enum class Kind : std::int8_t {
    kForward,     ///< has a sequence number
    kBackward,    ///< runs a node of autograd's graph
    kAccumulate,  ///< AccumulateGrad: a gradient is ready
    kOptimizer,   ///< Optimizer.step and zero_grad
    kCollective,  ///< "nccl:all_reduce"
    kClone,       ///< aten::clone: a copy is allocated
    kModule,      ///< "nn.Module: Conv2d_0"
  };
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t sequence = -1;
  std::int64_t size = -1;  ///< elements of a gradient, bytes of a collective; -1: not said
  std::int32_t forward_thread = 0;
  std::uint32_t name = 0;
  std::uint32_t thread = 0;
  std::uint32_t shape = 0;  ///< a gradient's shape, "64x3x7x7", as its place in the names
  Kind kind = Kind::kForward;
};

/// A call of the CUDA runtime.
struct Launch {
  std::int64_t correlation = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t thread = 0;
};

/// What a device did.
struct Activity {
  enum class Kind : std::int8_t { kCompute, kHostCopy, kCollective };
  std::int64_t correlation = 0;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::int64_t bytes = -1;      ///< what a collective's kernel says it carries; -1: it says nothing
  std::uint32_t operation = 0;  ///< what the kernel calls a collective, as its place in the names
  std::uint32_t stream = 0;
  Kind kind = Kind::kCompute;
};

struct Allocation {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  std::uint32_t thread = 0;
};

/// A step as the profiler marks it.
struct StepMark {
  std::string name;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t thread = 0;
};

struct KinetoRecords {
  std::string file;
  TraceHeader header;
  Names names;
  std::vector<StepMark> steps;     ///< steps whose records are kept, by start; may be empty
  std::size_t steps_left_out = 0;  ///< earlier ones that did not fit
  std::vector<HostSpan> spans;
  std::vector<Launch> launches;
  std::vector<Activity> activities;
  std::vector<Allocation> allocations;  ///< on the device

  std::size_t size() const {
    return spans.size() + launches.size() + activities.size() + allocations.size();
  }
};

/// Records are 32 to 56 B: 70 MB, and vectors that grow take twice that.
inline constexpr std::size_t kMostRecords = 1'200'000;

/// Opens the trace anew, from its beginning.
using OpenTrace = std::function<std::unique_ptr<ByteStream>()>;

/// Throws InputError. `most_records`: kMostRecords but in tests.
KinetoRecords read_kineto_records(const OpenTrace& open, std::size_t most_records = kMostRecords);

/// Bytes of an element of a type as PyTorch writes it ("float", "long int", "c10::Half", "Float");
/// 0 for any other.
std::int64_t element_bytes(std::string_view type);

/// A collective as a config names it: "all-reduce" for "nccl:all_reduce", "_allgather_base" or
/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)".
std::string collective_name(std::string_view name);

}  // namespace steptime
