#include "calibration/rounds.h"

#include "sim/core/error.h"
#include "sim/core/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

/// "4", "64 KiB", or K, M, G as nccl-tests has them.
std::int64_t size_option(const char* name, const std::string& text) {
  try {
    if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0)
      return std::stoll(text);
    if (!text.empty() && std::string("KMG").find(text.back()) != std::string::npos)
      return parse_quantity<Bytes>(text.substr(0, text.size() - 1) + " " + text.back() + "iB")
          .count;
    return parse_quantity<Bytes>(text).count;
  } catch (const std::exception&) {
    throw InputError(fmt::format("{}: expected a size such as 4, 64K or \"25 MiB\", got {}", name,
                                 brief(Json(text))));
  }
}

std::vector<const TimedOperation*> chosen(const std::vector<TimedOperation>& all,
                                          const std::string& only) {
  std::vector<const TimedOperation*> result;
  std::vector<std::string> known;
  for (const TimedOperation& timed : all) {
    known.push_back(timed.name);
    if (only.empty() || only == timed.name) result.push_back(&timed);
  }
  if (result.empty()) {
    throw InputError(
        fmt::format("--only: unknown {}; known: {}", brief(Json(only)), fmt::join(known, ", ")));
  }
  return result;
}

}  // namespace

std::vector<std::int64_t> size_grid(std::int64_t first, std::int64_t last, double factor) {
  std::vector<std::int64_t> sizes;
  auto size = static_cast<double>(first);
  while (size < static_cast<double>(last) * 0.999) {
    const std::int64_t whole = std::llround(size / 4) * 4;
    if (whole > 0 && (sizes.empty() || whole > sizes.back())) sizes.push_back(whole);
    size *= factor;
  }
  const std::int64_t end = (last + 3) / 4 * 4;
  if (sizes.empty() || end > sizes.back()) sizes.push_back(end);
  return sizes;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", std::gmtime(&now));
  return text.data();
}

MeasureOptions::MeasureOptions(po::options_description& options) {
  options.add_options()("minbytes,b", po::value(&first_)->default_value("4"), "smallest size")(
      "maxbytes,e", po::value(&last_)->default_value("4M"), "largest size")(
      "stepfactor,f", po::value(&factor_)->default_value(2), "factor between sizes")(
      "rounds", po::value(&rounds)->default_value(20), "of all sizes")(
      "seconds", po::value(&seconds)->default_value(3600),
      "after which no new round begins, once there are two")("only", po::value(&only),
                                                             "one operation, such as all-reduce")(
      "note", po::value(&note), "anything a reader of the measurements must know")(
      "output,o", po::value(&path)->required(), "file of measurements to write, for `fit`");
}

void MeasureOptions::check() const {
  if (rounds < 2 || rounds > 10'000)
    throw InputError(fmt::format("--rounds: expected 2 to 10000, got {}", rounds));
  if (!(seconds > 0)) throw InputError(fmt::format("--seconds: expected more, got {}", seconds));
}

std::vector<std::int64_t> MeasureOptions::sizes() const {
  if (!(factor_ > 1)) throw InputError(fmt::format("-f: expected more than 1, got {}", factor_));
  const std::int64_t from = size_option("-b", first_);
  const std::int64_t to = size_option("-e", last_);
  if (from < 4 || to < from || to > (std::int64_t{1} << 32))
    throw InputError(fmt::format("-b, -e: expected 4 B to 4 GiB, got {} to {} B", from, to));
  return size_grid(from, to, factor_);
}

MeasuredRounds measure_rounds(const std::vector<TimedOperation>& all,
                              std::span<const std::int64_t> sizes, const MeasureOptions& options,
                              const std::function<bool()>& is_over, const OnProgress& on_progress) {
  const std::vector<const TimedOperation*> operations = chosen(all, options.only);
  MeasuredRounds result;
  for (const TimedOperation* timed : operations) {
    MeasuredSeries series{timed->name, timed->ranks, {}};
    if (timed->has_size) {
      for (const std::int64_t bytes : sizes)
        series.sizes.push_back({bytes, {}});
    } else {
      series.sizes.push_back({0, {}});
    }
    result.series.push_back(std::move(series));
  }
  const auto parts =
      static_cast<double>(operations.size()) * static_cast<double>(options.rounds + 1);
  double done = 0;
  for (std::int64_t round = -1; round < options.rounds; ++round) {
    for (std::size_t k = 0; k < operations.size(); ++k) {
      // After another operation the first one of its kind may take several times as long.
      operations[k]->seconds(result.series[k].sizes.front().bytes);
      for (SizeTimes& size : result.series[k].sizes) {
        const double seconds = operations[k]->seconds(size.bytes);
        if (round >= 0) size.seconds.push_back(seconds);
      }
      if (on_progress) on_progress(++done / parts);
    }
    if (is_over() && round >= 1) break;
  }
  return result;
}

}  // namespace steptime
