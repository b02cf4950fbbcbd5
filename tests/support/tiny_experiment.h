// An experiment small enough to work out by hand, in a folder of its own, and the command line.
//
// Four workers, batch 32; an all-reduce of M bytes takes 1 ms + M * 1 ns. Times in ms:
//
//   layer  forward  backward  gradients (float32)
//   conv        10        20  conv 1 MB: 1 + 1 = 2
//   relu         1         2
//   fc           4         5  fc.w 4 MB: 1 + 4 = 5, fc.b 4 kB: 1 + 0.004 = 1.004
//
//   forward 15, backward 5 + 2 + 20 = 27, compute 42; fc is ready at 15 + 5 = 20, conv at 42
//
// The default schedule, WFBP, sends each tensor as soon as it exists, last tensor first:
//
//   fc.b  20     .. 21.004
//   fc.w  21.004 .. 26.004
//   conv  42     .. 44      step 44, exposed 2, busy 1.004 + 5 + 2 = 8.004
#pragma once
#include "sim/command/cli.h"
#include "sim/config/json.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace steptime {

inline constexpr const char* kTinyTrace = R"({
  "format": "steptime-trace", "version": 1, "model": "tiny", "device": "test", "batch": 32,
  "provenance": {"source": "made up", "date": "2024-01-01", "licence": "none"},
  "layers": [
    {"name": "conv", "forward_s": 0.010, "backward_s": 0.020, "params": 250000},
    {"name": "relu", "forward_s": 0.001, "backward_s": 0.002},
    {"name": "fc", "forward_s": 0.004, "backward_s": 0.005,
     "tensors": [{"name": "fc.w", "params": 1000000}, {"name": "fc.b", "params": 1000}]}]
})";

inline constexpr const char* kTinyExperiment = R"({
  "name": "tiny",
  "workload": {"trace": "trace.json"},
  "cluster": {"nodes": 4,
              "network": {"type": "switch", "latency": "10 us", "bandwidth": "1 GB/s"}},
  "strategy": {"aggregation": {"type": "all-reduce",
                               "collective": {"type": "linear", "a": "1 ms", "b": "1 ns/B"}}}
})";

/// A folder with trace.json, removed with its content at the end of its scope.
class TinyFolder {
 public:
  TinyFolder() {
    static std::atomic<int> count{0};
    path_ = std::filesystem::temp_directory_path() /
            ("steptime_test." + std::to_string(getpid()) + "." + std::to_string(count++));
    std::filesystem::create_directories(path_);
    write("trace.json", kTinyTrace);
  }
  TinyFolder(const TinyFolder&) = delete;
  TinyFolder& operator=(const TinyFolder&) = delete;
  ~TinyFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }
  std::string read(const std::string& name) const { return read_file(path(name)); }
  /// Returns the path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path(name);
  }
  /// trace.json with a JSON merge patch (RFC 7396: null removes a key).
  void patch_trace(const std::string& patch) const {
    Json trace = Json::parse(kTinyTrace);
    trace.merge_patch(Json::parse(patch));
    write("trace.json", trace.dump());
  }
  /// The path of x.json: the experiment with a JSON merge patch.
  std::string experiment(const std::string& patch = "{}") const {
    Json config = Json::parse(kTinyExperiment);
    config.merge_patch(Json::parse(patch));
    return write("x.json", config.dump());
  }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int exit = 0;
  std::string out;
  std::string err;
};

/// Runs "steptime <args>".
inline Outcome steptime(const std::vector<std::string>& args,
                        const std::atomic<bool>* interrupted = nullptr) {
  std::ostringstream out;
  std::ostringstream err;
  const int exit = run_command_line(args, {.out = out, .err = err, .interrupted = interrupted});
  return {exit, out.str(), err.str()};
}

/// The lines of a text, without their ends.
inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

}  // namespace steptime
