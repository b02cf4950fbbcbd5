#include "sim/command/calibrate_all.h"

#include "sim/command/output_kinds.h"
#include "sim/command/scratch_folder.h"
#include "sim/config/json.h"
#include "sim/core/limits.h"
#include "sim/evidence/fitted_profile.h"
#include "sim/evidence/measured_rounds.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <set>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;

/// One program's share of the time.
struct MeasuringPart {
  std::string name;
  double share = 0;
  bool is_trace = false;  ///< the program writes a trace of layers; else it writes measurements
  std::vector<std::string> launcher{};
  std::vector<std::string> args{};
};

/// Runs it with our standard error, and nothing of its output; its exit code, or 128 and the signal
/// that ended it. Ends it after `seconds`.
int run_child(std::vector<std::string> words, double seconds, const Terminal& terminal) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw InputError(fmt::format("fork: {}", std::strerror(errno)));
  if (child == 0) {
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
    execvp(argv.front(), argv.data());
    _exit(static_cast<int>(Exit::kMissing));
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  constexpr std::chrono::seconds kPatience{10};  // with what was told to end
  std::optional<Clock::time_point> told;
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      if (terminal.is_interrupted()) throw Interrupted();
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    const auto now = Clock::now();
    if (!told && (terminal.is_interrupted() || now > end)) {
      kill(child, SIGTERM);
      told = now;
    }
    if (told && now > *told + kPatience) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::vector<MeasuringPart> parts_of(const AllRequest& request) {
  const std::int64_t processors = std::max(2U, std::thread::hardware_concurrency());
  const std::int64_t ranks = request.ranks > 0 ? request.ranks : processors;
  const auto layers = [&](const char* name, const char* backend) {
    return MeasuringPart{
        name, 0.15, true, {}, {"compute", "--backend", backend, "--model", request.model}};
  };
  return {{"mpi",
           0.4,
           false,
           {"mpirun", "-n", fmt::format("{}", ranks), "--oversubscribe", "--bind-to", "none"},
           {"mpi"}},
          {"cuda", 0.2, false, {}, {"cuda"}},
          {"nccl", 0.1, false, {}, {"nccl"}},
          layers("layers-cpu", "cpu"),
          layers("layers-gpu", "gpu")};
}

/// Adds what one program measured; an operation that another one has, too, gets its name before it.
void add_rounds(MeasuredRounds& all, const MeasuredRounds& part, const std::string& name) {
  std::set<std::string> known;
  for (const MeasuredSeries& series : all.series)
    known.insert(series.operation);
  all.nodes = std::max(all.nodes, part.nodes);
  for (MeasuredSeries series : part.series) {
    if (known.contains(series.operation)) series.operation = name + " " + series.operation;
    all.series.push_back(std::move(series));
  }
}

}  // namespace

Exit calibrate_all(const AllRequest& request, const Terminal& terminal) {
  std::error_code failed;
  const fs::path programs = request.programs.empty()
                                ? fs::read_symlink("/proc/self/exe", failed).parent_path()
                                : fs::path(request.programs);
  const std::string self = (programs / "steptime").string();
  const fs::path profile_path(request.profile);
  check_output(request.profile, kProfile);
  const ScratchFolder scratch;
  MeasuredRounds rounds{.provenance = {{"source", "steptime calibrate all"}}};
  Json measured_by = Json::object();
  Json traces = Json::array();
  const std::vector<MeasuringPart> parts = parts_of(request);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const MeasuringPart& part = parts[k];
    const double seconds = part.share * request.seconds;
    terminal.err << fmt::format("{} of {}: calibrate {}, at most {:.0f} s\n", k + 1, parts.size(),
                                fmt::join(part.args, " "), seconds);
    const std::string file =
        part.is_trace ? (profile_path.parent_path() /
                         fmt::format("{}.{}.json", profile_path.stem().string(), part.name))
                            .string()
                      : (scratch.path() / (part.name + ".json")).string();
    std::vector<std::string> words = part.launcher;
    words.insert(words.end(), {self, "calibrate"});
    words.insert(words.end(), part.args.begin(), part.args.end());
    words.insert(words.end(), {"-o", file});
    // Half of the time measures; the other half is for starting, warming up and the last round.
    if (!part.is_trace) words.insert(words.end(), {"--seconds", fmt::format("{}", seconds / 2)});
    const int exit = run_child(std::move(words), seconds, terminal);
    if (exit != 0) {
      terminal.err << fmt::format("left out: it ended with {}\n", exit);
    } else if (part.is_trace) {
      traces.push_back(file);
    } else {
      const MeasuredRounds own = parse_rounds(read_file(file), file);
      add_rounds(rounds, own, part.name);
      measured_by[part.name] = own.provenance;
      for (const char* key : {"date", "licence"}) {
        if (own.provenance.contains(key)) rounds.provenance[key] = own.provenance.at(key);
      }
    }
  }
  if (rounds.series.empty()) {
    throw MissingError(
        "nothing could be measured for a profile: apt-get install libopenmpi-dev openmpi-bin, and "
        "build again");
  }
  rounds.provenance["parts"] = measured_by;
  if (!traces.empty()) rounds.provenance["traces"] = traces;
  const FittedProfile profile = fit_profile(rounds, {});
  terminal.out << profile.text();
  write_file(request.profile, profile.json("measured on the machine at hand").dump(2) + "\n",
             kProfile);
  terminal.err << "wrote " << request.profile << "\n";
  return Exit::kOk;
}

}  // namespace steptime
