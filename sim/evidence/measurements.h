// Measured times of a collective, as benchmarks print them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

struct Measurement {
  std::int64_t bytes = 0;
  double time_us = 0;  ///< positive; out of place where the benchmark measures both
};

/// Reads what nccl-tests print (text, old and new columns; the JSON of -J), what OSU's latency
/// tests print, CSV with a header that names a size and a time column (bytes,time_us or
/// size(B),...,time(ns)), and what `steptime collective` prints in any format. The format is found
/// in the text; lines of logs in between are skipped. `file` is for messages. Throws InputError.
std::vector<Measurement> parse_measurements(std::string_view text, const std::string& file);
std::vector<Measurement> read_measurements(const std::string& path);

}  // namespace steptime
