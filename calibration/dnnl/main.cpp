// `steptime calibrate compute --backend cpu`: the layers of a model by oneDNN, in one thread.
#include "calibration/compute.h"
#include "calibration/dnnl/layer_runs.h"
#include "calibration/program.h"

#include <cstdlib>
#include <ctime>
#include <dnnl.h>
#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Seconds that this thread has run.
double thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// One thread of this machine's processor. A primitive returns when it is done.
class OneThread final : public ComputeBackend {
 public:
  std::vector<LayerRun> layer_runs(const std::vector<TableLayer>& layers,
                                   std::int64_t batch) override {
    return dnnl_runs(layers, batch);
  }
  void mark() override { marks_.push_back(thread_time()); }
  std::vector<double> laps() override {
    std::vector<double> laps;
    for (std::size_t i = 1; i < marks_.size(); ++i)
      laps.push_back(marks_[i] - marks_[i - 1]);
    marks_.clear();
    return laps;
  }
  /// "Intel(R) Xeon(R) ..., one thread", as the system names the processor.
  std::string device() const override {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
      if (line.starts_with("model name") || line.starts_with("cpu\t"))
        return line.substr(line.find(':') + 2) + ", one thread";
    }
    return "an unnamed CPU, one thread";
  }
  std::string library() const override {
    const dnnl_version_t& version = *dnnl_version();
    return fmt::format("oneDNN {}.{}.{}", version.major, version.minor, version.patch);
  }
  std::string time() const override { return "CPU time of one thread"; }

 private:
  std::vector<double> marks_;
};

int program(int argc, char** argv) {
  setenv("OMP_NUM_THREADS", "1", 1);  // before oneDNN's threads begin
  return run_program(argc, argv, [](std::span<const std::string> args, const Terminal& terminal) {
    return calibrate_compute(
        "cpu",
        [](const std::string& precision) {
          if (precision != "float32") {
            throw InputError(
                fmt::format("--precision: on the CPU float32 is measured, got \"{}\"", precision));
          }
          return std::make_unique<OneThread>();
        },
        args, terminal);
  });
}

}  // namespace
}  // namespace steptime

int main(int argc, char** argv) {
  return steptime::program(argc, argv);
}
