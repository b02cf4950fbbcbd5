#include "models/importers/kineto_records.h"

#include "sim/config/json.h"
#include "sim/core/error.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::size_t kMostNameBytes = std::size_t{16} << 20;
constexpr std::size_t kMostSteps = 100'000;
constexpr std::int64_t kMostElements = std::int64_t{1} << 50;
constexpr std::int64_t kLongestActivity = 1'000'000'000'000;  // 1000 s: sums stay in 63 bits
constexpr std::string_view kAccumulateGrad = "torch::autograd::AccumulateGrad";

std::string lower_letters(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') letters += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') letters += c;
  }
  return letters;
}

class Collector {
 public:
  Collector(KinetoRecords& records, std::size_t most, std::int64_t from_ns)
      : records_(records), most_(most), from_ns_(from_ns) {}

  std::size_t seen() const { return seen_; }
  bool overflows() const { return overflows_; }

  void add(const TraceEvent& e) {
    using Category = TraceEvent::Category;
    if (e.category == Category::kOperator && e.name.starts_with("ProfilerStep#")) return mark(e);
    if (e.start_ns < from_ns_) return;
    switch (e.category) {
      case Category::kOperator:
      case Category::kModule:
        return span(e);
      case Category::kRuntime:
        if (e.correlation < 0) return;
        return keep(records_.launches,
                    Launch{e.correlation, e.start_ns, e.start_ns + e.duration_ns, name(e.thread)});
      case Category::kKernel:
      case Category::kCopy:
      case Category::kSet:
        return activity(e);
      case Category::kAllocation:
        if (e.device_type != 1 || e.bytes <= 0) return;
        return keep(records_.allocations, Allocation{e.start_ns, e.bytes, name(e.thread)});
      case Category::kOther:
        return;
    }
  }

 private:
  std::uint32_t name(const std::string& text) { return records_.names.number(text, records_.file); }

  template <class Record>
  void keep(std::vector<Record>& kept, Record record) {
    ++seen_;
    if (records_.size() >= most_) overflows_ = true;
    if (!overflows_) kept.push_back(record);
  }

  void mark(const TraceEvent& e) {
    if (records_.steps.size() >= kMostSteps) {
      throw InputError(fmt::format("{}: expected at most {} steps", records_.file, kMostSteps));
    }
    records_.steps.push_back({e.name, e.start_ns, e.start_ns + e.duration_ns, name(e.thread)});
  }

  std::int64_t elements(const std::vector<std::int64_t>& shape) const {
    double product = 1;
    std::int64_t count = 1;
    for (const std::int64_t size : shape) {
      product *= static_cast<double>(size);
      if (size < 0 || product > static_cast<double>(kMostElements)) {
        throw InputError(fmt::format("{}: a tensor of {}: expected at most 2^50 elements",
                                     records_.file, fmt::join(shape, " x ")));
      }
      count *= size;
    }
    return count;
  }

  /// Bytes of all arguments; -1 when a shape or a type is not known.
  std::int64_t argument_bytes(const TraceEvent& e) const {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < e.shapes.size(); ++i) {
      const std::int64_t each = i < e.types.size() ? element_bytes(e.types[i]) : 0;
      if (each == 0 || e.shapes[i].empty()) return -1;
      bytes += elements(e.shapes[i]) * each;
      if (bytes > kMostElements) return -1;
    }
    return e.shapes.empty() ? -1 : bytes;
  }

  void span(const TraceEvent& e) {
    using Kind = HostSpan::Kind;
    HostSpan s{.start_ns = e.start_ns,
               .end_ns = e.start_ns + e.duration_ns,
               .sequence = e.sequence,
               .forward_thread = static_cast<std::int32_t>(e.forward_thread)};
    if (e.category == TraceEvent::Category::kModule) {
      if (!e.name.starts_with("nn.Module: ")) return;
      s.kind = Kind::kModule;
    } else if (e.name == kAccumulateGrad) {
      s.kind = Kind::kAccumulate;
      if (!e.shapes.empty() && !e.shapes.front().empty()) {
        s.size = elements(e.shapes.front());
        s.shape = name(fmt::format("{}", fmt::join(e.shapes.front(), "x")));
      }
    } else if (e.name.starts_with("Optimizer.")) {
      s.kind = Kind::kOptimizer;
    } else if (e.name.starts_with("nccl:")) {
      s.kind = Kind::kCollective;
      s.size = argument_bytes(e);
    } else if (e.name == "aten::clone") {
      s.kind = Kind::kClone;
    } else if (e.sequence >= 0) {
      s.kind = e.forward_thread != 0 ? Kind::kBackward : Kind::kForward;
    } else {
      return;
    }
    s.name = name(e.name);
    s.thread = name(e.thread);
    keep(records_.spans, s);
  }

  void activity(const TraceEvent& e) {
    using Kind = Activity::Kind;
    if (e.duration_ns > kLongestActivity) {
      throw InputError(fmt::format("{}: {} for {:g} s: expected at most 1000 s", records_.file,
                                   brief(e.name), static_cast<double>(e.duration_ns) * 1e-9));
    }
    Activity a{.correlation = e.correlation,
               .start_ns = e.start_ns,
               .duration_ns = e.duration_ns,
               .stream = name(e.thread)};
    if (e.category == TraceEvent::Category::kCopy &&
        (e.name.find("HtoD") != e.name.npos || e.name.find("DtoH") != e.name.npos)) {
      a.kind = Kind::kHostCopy;
    }
    if (e.category == TraceEvent::Category::kKernel && e.name.starts_with("nccl")) {
      a.kind = Kind::kCollective;
      a.operation = name(collective_name(e.collective.empty() ? e.name : e.collective));
      const std::int64_t each = element_bytes(e.dtype);
      if (each > 0 && e.elements >= 0 && e.elements <= kMostElements / 16)
        a.bytes = e.elements * each;
    }
    keep(records_.activities, a);
  }

  KinetoRecords& records_;
  std::size_t most_;
  std::int64_t from_ns_;
  std::size_t seen_ = 0;
  bool overflows_ = false;
};

/// Reads the events from `from_ns` on; returns how many records they make, and whether these were
/// too many to keep.
std::pair<std::size_t, bool> read_pass(const OpenTrace& open, std::size_t most,
                                       std::int64_t from_ns, KinetoRecords& records) {
  const std::unique_ptr<ByteStream> stream = open();
  records = {};
  records.file = stream->file();
  Collector collector(records, most, from_ns);
  records.header =
      read_trace_events(*stream, [&](const TraceEvent& event) { collector.add(event); });
  std::stable_sort(records.steps.begin(), records.steps.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start_ns < b.start_ns; });
  return {collector.seen(), collector.overflows()};
}

}  // namespace

std::uint32_t Names::number(const std::string& text, const std::string& file) {
  const auto [at, is_new] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
  if (is_new) {
    bytes_ += text.size() + 64;  // with what the map needs for it
    if (bytes_ > kMostNameBytes) {
      throw InputError(fmt::format("{}: expected at most {} MiB of different names", file,
                                   kMostNameBytes >> 20));
    }
    texts_.push_back(&at->first);
  }
  return at->second;
}

KinetoRecords read_kineto_records(const OpenTrace& open, std::size_t most_records) {
  KinetoRecords records;
  const auto [seen, overflows] = read_pass(open, most_records, INT64_MIN, records);
  if (!overflows) return records;
  const std::string file = records.file;
  const std::vector<StepMark> steps = records.steps;
  if (steps.empty()) {
    throw InputError(
        fmt::format("{}: {} events to keep without a ProfilerStep mark between them, "
                    "expected at most {}",
                    file, seen, most_records));
  }
  // Steps are alike; a tenth is for those that are not, and for what lies behind the last one.
  const std::size_t each = seen / steps.size() + 1;
  const std::size_t kept = std::min(steps.size() - 1, most_records / 10 * 9 / each);
  if (kept == 0) {
    throw InputError(fmt::format("{}: a step of some {} events to keep, expected at most {}", file,
                                 each, most_records / 10 * 9));
  }
  const std::size_t first = steps.size() - kept;
  if (read_pass(open, most_records, steps[first].start_ns, records).second) {
    throw InputError(
        fmt::format("{}: the last {} of {} steps have most of the {} events to keep, "
                    "expected at most {}",
                    file, kept, steps.size(), seen, most_records));
  }
  records.steps.erase(records.steps.begin(),
                      records.steps.begin() + static_cast<std::ptrdiff_t>(first));
  records.steps_left_out = first;
  return records;
}

std::int64_t element_bytes(std::string_view type) {
  using Pair = std::pair<std::string_view, std::int64_t>;
  static constexpr std::array<Pair, 20> kKnown{
      {{"float", 4},     {"Float", 4},         {"double", 8},        {"Double", 8},
       {"c10::Half", 2}, {"Half", 2},          {"c10::BFloat16", 2}, {"BFloat16", 2},
       {"long int", 8},  {"long", 8},          {"Long", 8},          {"int", 4},
       {"Int", 4},       {"unsigned char", 1}, {"Byte", 1},          {"signed char", 1},
       {"Char", 1},      {"bool", 1},          {"Bool", 1},          {"short int", 2}}};
  for (const auto& [known, bytes] : kKnown) {
    if (known == type) return bytes;
  }
  return 0;
}

std::string collective_name(std::string_view name) {
  using Pair = std::pair<std::string_view, const char*>;
  // The first that the letters contain, so longer ones come first.
  static constexpr std::array<Pair, 8> kKnown{{{"allreduce", "all-reduce"},
                                               {"reducescatter", "reduce-scatter"},
                                               {"allgather", "all-gather"},
                                               {"alltoall", "all-to-all"},
                                               {"sendrecv", "send-receive"},
                                               {"broadcast", "broadcast"},
                                               {"barrier", "barrier"},
                                               {"reduce", "reduce"}}};
  const std::string letters = lower_letters(name);
  for (const auto& [known, operation] : kKnown) {
    if (letters.find(known) != letters.npos) return operation;
  }
  return std::string(name);
}

}  // namespace steptime
