#include "sim/sweeps/job.h"

#include "sim/config/json.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

/// As a shell reads it back.
std::string shell_word(std::string_view word) {
  constexpr std::string_view kHarmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-=:,+@%";
  if (!word.empty() && word.find_first_not_of(kHarmless) == word.npos) return std::string(word);
  std::string text = "'";
  for (const char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string command(const char* verb, const SweepJob& job, const std::string& more = "") {
  std::string text = fmt::format("steptime {}", verb);
  for (const std::string& arg : job.args)
    text += fmt::format(" {}", shell_word(arg));
  return fmt::format("{} -o {}{}", text, shell_word(job.folder), more);
}

/// "250 points, 31 or 32 in each of 8 tasks".
std::string amounts(const SweepJob& job) {
  const std::int64_t few = job.points / job.tasks;
  const std::string each =
      job.points % job.tasks == 0 ? fmt::format("{}", few) : fmt::format("{} or {}", few, few + 1);
  return fmt::format("{} points, {} in each of {} tasks", job.points, each, job.tasks);
}

/// Exit code 4 says that points failed: the task is done, and the merged result says it, too.
constexpr const char* kIsDone = "[ $? = 4 ]";

std::string slurm(const SweepJob& job) {
  return fmt::format(
      "#!/bin/bash\n"
      "# {}. Save as sweep.sh; then:\n"
      "#   sbatch --wait sweep.sh; {}\n"
      "# A task that was lost goes on where it was when the script is submitted again.\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --array=1-{}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --cpus-per-task={}\n"
      "#SBATCH --requeue\n"
      "# Exit code 4 says that points failed, which the result says, too.\n"
      "{} || {}\n",
      amounts(job), command("merge", job), shell_word(job.name), job.tasks, job.threads,
      command("sweep", job, fmt::format(" -j {} --shard auto --resume", job.threads)), kIsDone);
}

std::string parallel(const SweepJob& job) {
  return fmt::format(
      "#!/bin/sh\n"
      "# {}, as many at once as there are processors.\n"
      "# Exit code 4 says that points failed, which the result says, too.\n"
      "seq {} | parallel {} && {}\n",
      amounts(job), job.tasks,
      shell_word(command("sweep", job,
                         fmt::format(" -j {} --shard {{}}/{} --resume >/dev/null || {}",
                                     job.threads, job.tasks, kIsDone))),
      command("merge", job));
}

std::string k8s(const SweepJob& job) {
  std::string label;  // as RFC 1123 has names
  for (const char c : job.name)
    label += std::isalnum(static_cast<unsigned char>(c)) != 0
                 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c)))
                 : '-';
  // The shell's own name, and then what it runs.
  std::vector<std::string> words{"sh", "-c",       fmt::format("\"$@\" || {}", kIsDone),
                                 "sh", "steptime", "sweep"};
  words.insert(words.end(), job.args.begin(), job.args.end());
  for (const std::string& word :
       {std::string("-o"), job.folder, std::string("-j"), fmt::format("{}", job.threads),
        std::string("--shard"), fmt::format("auto/{}", job.tasks), std::string("--resume")})
    words.push_back(word);
  return fmt::format(
      "# {}. \"image\" has steptime, and the claim the config and the folder.\n"
      "# Exit code 4 says that points failed, which the result says, too.\n"
      "# Afterwards: {}\n"
      "apiVersion: batch/v1\n"
      "kind: Job\n"
      "metadata:\n"
      "  name: sweep-{}\n"
      "spec:\n"
      "  completions: {}\n"
      "  parallelism: {}\n"
      "  completionMode: Indexed\n"
      "  template:\n"
      "    spec:\n"
      "      restartPolicy: OnFailure\n"
      "      containers:\n"
      "        - name: steptime\n"
      "          image: steptime\n"
      "          workingDir: /data\n"
      "          command: {}\n"
      "          resources: {{requests: {{cpu: \"{}\"}}}}\n"
      "          volumeMounts: [{{name: data, mountPath: /data}}]\n"
      "      volumes: [{{name: data, persistentVolumeClaim: {{claimName: steptime}}}}]\n",
      amounts(job), command("merge", job), label, job.tasks, job.tasks, Json(words).dump(),
      job.threads);
}

}  // namespace

std::string job_script(const std::string& system, const SweepJob& job) {
  if (system == "slurm") return slurm(job);
  if (system == "parallel") return parallel(job);
  if (system == "k8s") return k8s(job);
  throw InputError("--emit: " +
                   unknown_word(system, std::vector<std::string>{"slurm", "parallel", "k8s"}));
}

}  // namespace steptime
