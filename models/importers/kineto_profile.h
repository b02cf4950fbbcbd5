// The steps of a PyTorch trace: what of the device's time belongs to which layer.
//
// A kernel belongs to the runtime call with its correlation id, and that to the operators of its
// thread around it; never to what happens to run at the same time. It takes its own time and, where
// it was launched before the one ahead of it ended, what the device needs from that one to it.
// Forward operators that share a sequence number, which only one node of autograd's graph can have,
// are a layer; a backward operator belongs to the layer with the highest number up to its own. A
// gradient (AccumulateGrad) and what else autograd does between two nodes belong to the node
// before.
//
// Source: PyTorch's torch/csrc/autograd/profiler_kineto.cpp and engine.cpp; sequence numbers as in
// "Correlating autograd operators" of the torch.autograd.profiler documentation.
// Limits: the forward pass runs on one thread. What no rule assigns is "other", never a layer's.
#pragma once
#include "models/importers/kineto_records.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

enum class StepPart { kForward, kBackward, kOptimizer, kCopies, kCommunication, kOther };
inline constexpr std::size_t kStepParts = 6;

struct ProfiledGradient {
  std::string shape;  ///< "64x3x7x7"
  std::int64_t elements = 0;
  bool operator==(const ProfiledGradient&) const = default;
};

struct ProfiledLayer {
  std::string name;  ///< the module's name where the trace has modules, else the operator's
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::vector<ProfiledGradient> gradients;  ///< in the order in which they became ready
};

struct ProfiledCollective {
  enum class Source { kMissing, kSaid, kAllocator };
  std::string operation;
  std::int64_t bytes = -1;  ///< bytes of one rank's input; -1: missing
  Source source = Source::kMissing;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct ProfiledStep {
  std::string name;
  std::int64_t wall_ns = 0;  ///< on the host; 0 without a mark
  std::array<std::int64_t, kStepParts> part_ns{};
  std::vector<ProfiledLayer> layers;  ///< in forward order
  std::vector<ProfiledCollective> collectives;

  std::int64_t device_ns() const;
};

/// Activities that had to be counted apart.
struct Odd {
  std::int64_t count = 0;
  std::int64_t ns = 0;  ///< their sum; of early ones and overlaps the longest
};

struct KinetoProfile {
  std::string file;
  TraceHeader header;
  std::vector<ProfiledStep> steps;     ///< at least one
  std::size_t steps_left_out = 0;      ///< earlier ones, which did not fit into memory
  std::string compiled;                ///< a backward operator without an inside, or ""
  std::int64_t unsized_gradients = 0;  ///< AccumulateGrad without a shape
  std::int64_t activities = 0;
  Odd unlaunched;   ///< ahead of all whose launch is in the trace, as work from before: in no step
  Odd lost;         ///< others whose launch is not in the trace: in no step
  Odd outside;      ///< launched before the first step or behind the last: in no step
  Odd unmatched;    ///< backward operators without a forward one; they count as other
  Odd early;        ///< begin before their launch
  Odd overlapping;  ///< begin before their predecessor on the same stream ends
};

/// Throws InputError when the trace contradicts itself: a kernel long before its launch, sequence
/// numbers that decrease, a backward operator before its forward one.
KinetoProfile profile_of(KinetoRecords&& records);

}  // namespace steptime
