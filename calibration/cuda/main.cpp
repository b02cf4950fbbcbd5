// What of Steptime needs CUDA: `steptime calibrate cuda`, `calibrate nccl` and `calibrate compute
// --backend gpu` start this program.
#include "calibration/cuda/measure.h"
#include "calibration/program.h"
#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/verbs.h"

#ifdef STEPTIME_NCCL
#include "calibration/cuda/nccl.h"
#endif
#ifdef STEPTIME_CUDNN
#include "calibration/cuda/layer_runs.h"
#endif

#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

namespace po = boost::program_options;

constexpr Verb kCuda{"calibrate", "cuda", "measures copies, sums and launches on the GPUs here",
                     "",          "",     nullptr};
constexpr Verb kNccl{"calibrate", "nccl", "measures NCCL between the GPUs here", "", "", nullptr};

/// Measures what `make` makes for sizes up to the largest, and writes it.
template <class Make>
Exit measure(const Verb& verb, std::span<const std::string> args, const Terminal& terminal,
             const Json& libraries, Make make) {
  po::options_description options("options");
  MeasureOptions request(options);
  const auto values = parse_arguments(verb, args, options, {}, terminal);
  if (!values) return Exit::kOk;
  request.check();
  const std::vector<std::int64_t> sizes = request.sizes();
  const int count = gpus();
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  MeasuredRounds measured = [&] {
    auto operations = make(sizes.back());
    ProgressLine line(terminal);
    return measure_rounds(
        operations.all(), sizes, request, [&] { return elapsed() > request.seconds; },
        line.listener());
  }();
  measured.provenance = {{"source", fmt::format("steptime calibrate {}", verb.usage)},
                         {"date", today()},
                         {"licence", "none: facts about the machine at hand"},
                         {"gpus", count},
                         {"device", gpu_name(0)},
                         {"seconds", elapsed()}};
  measured.provenance.update(libraries);
  if (!request.note.empty()) measured.provenance["note"] = request.note;
  write_file(request.path, rounds_json(measured).dump() + "\n", kMeasurements);
  terminal.out << fmt::format("{} x {}, {} operations, {} sizes from {} to {} B, {:.1f} s\n", count,
                              gpu_name(0), measured.series.size(), sizes.size(), sizes.front(),
                              sizes.back(), elapsed());
  terminal.err << "wrote " << request.path << "\n";
  return Exit::kOk;
}

Exit nccl([[maybe_unused]] std::span<const std::string> args,
          [[maybe_unused]] const Terminal& terminal) {
#ifdef STEPTIME_NCCL
  return measure(kNccl, args, terminal, {{"cuda", cuda_version()}, {"nccl", nccl_version()}},
                 [](std::int64_t largest) { return NcclOperations(largest); });
#else
  throw MissingError("this steptime-cuda was built without NCCL: apt-get install libnccl-dev");
#endif
}

Exit compute([[maybe_unused]] std::span<const std::string> args,
             [[maybe_unused]] const Terminal& terminal) {
#ifdef STEPTIME_CUDNN
  return calibrate_compute("gpu", make_cudnn_backend, args, terminal);
#else
  throw MissingError("this steptime-cuda was built without cuDNN: apt-get install nvidia-cudnn");
#endif
}

int program(int argc, char** argv) {
  return run_program(argc, argv, [](std::span<const std::string> args, const Terminal& terminal) {
    const std::string what = args.empty() ? "" : args.front();
    if (what == "cuda") {
      return measure(kCuda, args.subspan(1), terminal, {{"cuda", cuda_version()}},
                     [](std::int64_t largest) { return GpuOperations(largest); });
    }
    if (what == "nccl") return nccl(args.subspan(1), terminal);
    if (what == "compute") return compute(args.subspan(1), terminal);
    throw InputError("expected compute, cuda or nccl; steptime starts this program");
  });
}

}  // namespace
}  // namespace steptime

int main(int argc, char** argv) {
  return steptime::program(argc, argv);
}
