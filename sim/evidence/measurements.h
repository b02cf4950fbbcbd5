// Measured times of a collective, as benchmarks print them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

struct Measurement {
  std::int64_t bytes = 0;
  double time_us = 0;  ///< positive; out of place where the benchmark measures both
};

/// One run of a benchmark, with what the text says of it: its command, its list of devices, its
/// title.
struct MeasuredTable {
  std::string operation{};        ///< as experiments name it; "": it does not say
  std::optional<bool> reduces{};  ///< whether its rows say that something is added up
  std::int64_t ranks = 0;         ///< 0: it does not say
  std::int64_t nodes = 0;         ///< 0: it does not say
  std::vector<Measurement> rows{};

  /// "all-reduce on 8 ranks".
  std::string name() const;
};

/// What tables may be of, as experiments name it.
const std::vector<std::string>& measured_operations();

/// Reads what nccl-tests print (text, old and new columns; the JSON of -J), also Neuron's
/// nccom-test, what OSU's latency tests print, CSV with a header that names a size and a time
/// column (bytes,time_us or size(B),...,time(ns)), and what `steptime collective` prints in any
/// format. The format is found in the text. What launchers put in front of lines, indentation, and
/// lines of logs in between are skipped, as are tables of bandwidths and rows of no bytes. Text may
/// hold several runs. `file` is for messages. Throws InputError, also where a run is none of all
/// its ranks together, where the benchmark itself found wrong values, and for a row that is cut.
std::vector<MeasuredTable> parse_tables(std::string_view text, const std::string& file);

/// The rows of all runs in the text, which are of one operation and one number of ranks as far as
/// they say. Throws InputError.
std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file);
std::vector<Measurement> read_measurements(const std::string& path);

}  // namespace steptime
