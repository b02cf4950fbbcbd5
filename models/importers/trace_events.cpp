#include "models/importers/trace_events.h"

#include "sim/config/json.h"
#include "sim/core/error.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr int kMostDepth = 64;
constexpr std::size_t kMostName = 256;           // of a name; kernels of templates have thousands
constexpr std::size_t kMostArguments = 1 << 16;  // of an operator, whose shapes are kept
constexpr std::int64_t kMostMicroseconds = 9'000'000'000'000'000;    // 285 years, 2^63 ns are 292
constexpr std::int64_t kLongestNanoseconds = 1'000'000'000'000'000;  // 11 days

using Category = TraceEvent::Category;

Category category_of(std::string_view name) {
  using Pair = std::pair<std::string_view, Category>;
  static constexpr std::array<Pair, 13> kKnown{{{"cpu_op", Category::kOperator},
                                                {"Operator", Category::kOperator},
                                                {"user_annotation", Category::kOperator},
                                                {"cuda_runtime", Category::kRuntime},
                                                {"cuda_driver", Category::kRuntime},
                                                {"Runtime", Category::kRuntime},
                                                {"kernel", Category::kKernel},
                                                {"Kernel", Category::kKernel},
                                                {"gpu_memcpy", Category::kCopy},
                                                {"Memcpy", Category::kCopy},
                                                {"gpu_memset", Category::kSet},
                                                {"Memset", Category::kSet},
                                                {"python_function", Category::kModule}}};
  for (const auto& [known, category] : kKnown) {
    if (known == name) return category;
  }
  return Category::kOther;
}

/// Nanoseconds of a decimal number of microseconds; digits behind the third decimal are cut off.
/// Not through a double, which at 10^15 us since 1970 is good to a quarter of a microsecond.
std::optional<std::int64_t> nanoseconds(std::string_view text) {
  std::int64_t whole = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
  const char* const end = text.data() + text.size();
  if (error != std::errc{} || whole > kMostMicroseconds || text.starts_with('-')) return {};
  std::int64_t fraction = 0;
  if (rest != end && *rest == '.') {
    ++rest;
    for (int digit = 0; digit < 3; ++digit)
      fraction = fraction * 10 + (rest != end && *rest >= '0' && *rest <= '9' ? *rest++ - '0' : 0);
    while (rest != end && *rest >= '0' && *rest <= '9')
      ++rest;
  }
  if (rest != end) return {};  // an exponent, which the profiler does not write
  return whole * 1000 + fraction;
}

/// The library calls it as it reads. Containers are counted: 1 is the root, 2 the list of events, 3
/// an event, 4 its arguments, 5 an argument that is a list, 6 a list in that.
class Handler {
 public:
  Handler(ByteStream& stream, const std::function<void(const TraceEvent&)>& on_event)
      : stream_(stream), on_event_(on_event) {}

  bool has_events() const { return has_events_; }
  const TraceHeader& header() const { return header_; }

  bool null() { return true; }
  bool boolean(bool) { return true; }
  bool number_integer(std::int64_t value) { return integer(value); }
  bool number_unsigned(std::uint64_t value) {
    return integer(static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX)));
  }
  bool number_float(double, const std::string& text) {
    if (depth_ == 3 && in_event_ && (keys_[3] == "ts" || keys_[3] == "dur")) set_time(text);
    return true;
  }
  bool string(std::string& value) {
    stream_.mark();
    if (in_event_) {
      event_text(value);
    } else if (depth_ == 3 && keys_[1] == "deviceProperties" && keys_[3] == "name" &&
               header_.device.empty()) {
      header_.device = one_line(value.substr(0, kMostName));
    }
    return true;
  }
  bool binary(Json::binary_t&) { return true; }
  bool key(std::string& value) {
    stream_.mark();
    keys_[static_cast<std::size_t>(depth_)] = value.substr(0, kMostName);
    return true;
  }
  bool start_object(std::size_t) {
    open();
    if (depth_ == 3 && keys_[1] == "traceEvents") start_event();
    return true;
  }
  bool end_object() {
    if (depth_ == 3 && in_event_) end_event();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) {
    if (depth_ == 1 && keys_[1] == "traceEvents") has_events_ = true;
    open();
    if (depth_ == 6 && in_event_ && keys_[4] == "Input Dims") add_argument();
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
  [[noreturn]] void fail(std::string_view message) const {
    throw InputError(fmt::format("{}: /traceEvents/{}: {}", stream_.file(), events_ - 1, message));
  }

  void open() {
    stream_.mark();
    if (++depth_ >= kMostDepth) {
      throw InputError(fmt::format("{}: nested deeper than {} levels", stream_.file(), kMostDepth));
    }
    keys_[static_cast<std::size_t>(depth_)].clear();
  }

  void start_event() {
    ++events_;
    in_event_ = true;
    has_start_ = has_duration_ = is_complete_ = is_instant_ = false;
    event_ = {};
  }

  void end_event() {
    in_event_ = false;
    if (is_instant_ && event_.name == "[memory]") {
      event_.category = Category::kAllocation;
    } else if (!is_complete_ || event_.category == Category::kOther) {
      return;
    }
    if (!has_start_) fail("expected \"ts\", a time in microseconds");
    if (is_complete_ && !has_duration_) fail("expected \"dur\", a time in microseconds");
    on_event_(event_);
  }

  void add_argument() {
    if (event_.shapes.size() < kMostArguments) event_.shapes.emplace_back();
  }

  void set_time(std::string_view text) {
    const std::optional<std::int64_t> ns = nanoseconds(text);
    const bool is_start = keys_[3] == "ts";
    if (!ns || (!is_start && *ns > kLongestNanoseconds)) {
      fail(fmt::format("\"{}\": expected microseconds from 0 to {:g}, got {}", keys_[3],
                       is_start ? 9e15 : 1e12, one_line(std::string(text.substr(0, 40)))));
    }
    (is_start ? event_.start_ns : event_.duration_ns) = *ns;
    (is_start ? has_start_ : has_duration_) = true;
  }

  bool integer(std::int64_t value) {
    stream_.mark();
    if (!in_event_) {
      if (depth_ == 2 && keys_[1] == "distributedInfo") {
        if (keys_[2] == "rank") header_.rank = value;
        if (keys_[2] == "world_size") header_.ranks = value;
      }
      if (depth_ == 3 && keys_[1] == "deviceProperties" && keys_[3] == "numSms" &&
          header_.multiprocessors < 0) {
        header_.multiprocessors = value;
      }
      return true;
    }
    const std::string& key = keys_[static_cast<std::size_t>(std::min(depth_, 4))];
    if (depth_ == 3) {
      if (key == "ts" || key == "dur") set_time(fmt::format("{}", value));
      if (key == "tid") event_.thread = fmt::format("{}", value);
    } else if (depth_ == 4 && keys_[3] == "args") {
      if (key == "correlation") event_.correlation = value;
      if (key == "Sequence number") event_.sequence = value;
      if (key == "Fwd thread id") event_.forward_thread = value;
      if (key == "Bytes") event_.bytes = value;
      if (key == "Device Type") event_.device_type = value;
      if (key == "In msg nelems") event_.elements = value;
    } else if (depth_ == 6 && key == "Input Dims" && !event_.shapes.empty() &&
               event_.shapes.back().size() < kMostArguments) {
      event_.shapes.back().push_back(value);
    }
    return true;
  }

  void event_text(const std::string& value) {
    if (depth_ == 3) {
      const std::string& key = keys_[3];
      if (key == "ph") {
        is_complete_ = value == "X";
        is_instant_ = value == "i";
      }
      if (key == "cat") event_.category = category_of(value);
      if (key == "name") event_.name = one_line(value.substr(0, kMostName));
      if (key == "tid") event_.thread = value.substr(0, kMostName);
    } else if (depth_ == 4 && keys_[3] == "args") {
      if (keys_[4] == "Collective name") event_.collective = value.substr(0, kMostName);
      if (keys_[4] == "dtype") event_.dtype = value.substr(0, kMostName);
    } else if (depth_ == 5 && (keys_[4] == "Input type" || keys_[4] == "Input Dims")) {
      // A scalar among the shapes is an argument, too.
      if (keys_[4] == "Input Dims") return add_argument();
      if (event_.types.size() < kMostArguments) event_.types.push_back(value.substr(0, kMostName));
    }
  }

  ByteStream& stream_;
  const std::function<void(const TraceEvent&)>& on_event_;
  TraceHeader header_;
  TraceEvent event_;
  std::array<std::string, kMostDepth> keys_;  ///< by depth
  int depth_ = 0;
  std::int64_t events_ = 0;
  bool has_events_ = false;
  bool in_event_ = false;
  bool has_start_ = false;
  bool has_duration_ = false;
  bool is_complete_ = false;
  bool is_instant_ = false;
};

}  // namespace

TraceHeader read_trace_events(ByteStream& stream,
                              const std::function<void(const TraceEvent&)>& on_event) {
  Handler handler(stream, on_event);
  Json::sax_parse(ByteIterator(stream), ByteIterator(), &handler);
  if (!handler.has_events()) {
    throw InputError(stream.file() +
                     ": /traceEvents: required but missing: no trace of PyTorch's profiler");
  }
  return handler.header();
}

}  // namespace steptime
