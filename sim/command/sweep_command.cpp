#include "sim/command/sweep_command.h"

#include "sim/command/escaping_output.h"
#include "sim/command/output_kinds.h"
#include "sim/command/progress_line.h"
#include "sim/command/row_printer.h"
#include "sim/command/watch.h"
#include "sim/config/input_files.h"
#include "sim/core/text_table.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/result_text.h"
#include "sim/sweeps/job.h"
#include "sim/sweeps/journal.h"
#include "sim/sweeps/point_runner.h"
#include "sim/sweeps/run_sweep.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace steptime {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

/// The names of a sweep's files.
struct SweepFiles {
  std::string folder;
  std::string name;  ///< the experiment's

  std::string rows() const { return folder + "/" + name + ".jsonl"; }
  std::string csv() const { return folder + "/" + name + ".csv"; }
  std::string inputs() const { return folder + "/" + name + ".inputs.json"; }
  std::string journal(const SweepShard& shard, std::int64_t member) const {
    const std::string start = folder + "/" + name;
    if (!shard.is_all()) return fmt::format("{}.{}-of-{}.shard", start, shard.number, shard.count);
    return start + ".unfinished" + (member == 0 ? "" : fmt::format(".{}", member));
  }
  /// Of this sweep, whoever wrote them.
  std::vector<std::string> journals() const {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string file = entry.path().filename().string();
      if (!file.starts_with(name + ".")) continue;
      const std::string rest = file.substr(name.size());
      const bool is_shard =
          rest.ends_with(".shard") && rest.find_first_not_of(".-0123456789of") == rest.size() - 5;
      const bool is_unfinished =
          rest.starts_with(".unfinished") &&
          rest.find_first_not_of(".0123456789", std::string_view(".unfinished").size()) ==
              rest.npos;
      if (is_shard || is_unfinished) found.push_back(folder + "/" + file);
    }
    std::sort(found.begin(), found.end());
    return found;
  }
};

/// One sweep on its way to its files.
class FiledSweep {
 public:
  FiledSweep(const SweepRequest& request, const Sweep& sweep, const SweepFiles& files,
             const SweepCrew& crew)
      : request_(request),
        sweep_(sweep),
        files_(files),
        identity_(identity_of(sweep, files.name, request.full)) {
    create_folder(files_.folder);
    check_regular_output(files_.rows(), kRows);
    check_regular_output(files_.csv(), kCsv);
    check_regular_output(files_.inputs(), kInputs);
    if (!request.simulates) return;
    const std::string own = files_.journal(request.shard, crew.member);
    journal_ = std::make_unique<JournalWriter>(own, identity_, request.resume);
    if (!request.shard.is_all() || request.resume) {
      find(request.shard.is_all() ? files_.journals() : std::vector{own});
      return;
    }
    // Points that others left are not to be forgotten.
    std::vector<std::string> members;
    for (std::int64_t member = 0; member < crew.members; ++member)
      members.push_back(files_.journal(request.shard, member));
    for (const std::string& other : files_.journals()) {
      if (crew.member == 0 && std::find(members.begin(), members.end(), other) == members.end())
        JournalWriter(other, identity_, false);
    }
  }

  const FinishedPoints& before() const { return finished_; }
  JournalWriter* journal() { return journal_.get(); }
  /// A row of the journal, behind what it was computed from. From any thread.
  void append(std::string_view row) {
    const std::size_t noted = InputFiles::all().count();
    if (said_ != noted) {
      journal_->say_inputs(InputFiles::all().noted(request_.config));
      said_ = noted;
    }
    journal_->append(row);
  }
  /// How many there are to be in all the files that this command answers for.
  std::int64_t wanted() const {
    const SweepShard& shard = request_.shard;
    return (sweep_.points() - shard.number + shard.count) / shard.count;
  }

  /// Throws InputError where a file that finished points were computed from was edited since. As
  /// files are not all that rows depend on, one point is simulated again.
  void check_finished() const {
    finished_.check_inputs(request_.config);
    std::string row;
    std::int64_t point = -1;
    finished_.each(0, sweep_.points(), [&](std::string_view found) {
      if (point >= 0) return;
      row = found;
      point = Json::parse(found).at("point").get<std::int64_t>();
    });
    if (point < 0) return;
    bool is_asked = false;
    SweepOptions once{.full = request_.full};
    once.points = [&](std::size_t) {
      return std::exchange(is_asked, true) ? std::vector<std::int64_t>{}
                                           : std::vector<std::int64_t>{point};
    };
    std::string again;
    once.on_finished = [&](std::string_view line) { again = line; };
    run_sweep(sweep_, once);
    if (again == row) return;
    throw InputError(fmt::format(
        "{}: point {} gives another row now, though no file that it was computed from has changed; "
        "remove {} to start anew",
        files_.folder, point, files_.name + ".unfinished and .shard files"));
  }

  /// Writes NAME.jsonl, NAME.csv and NAME.inputs.json from all journals, and removes these.
  void assemble(const Terminal& terminal, const std::function<void(std::string_view)>& on_row) {
    const std::vector<std::string> journals = files_.journals();
    FinishedPoints all;
    for (const std::string& file : journals)
      all.add(file, identity_, request_.simulates ? Damage::kIsSimulatedAgain : Damage::kIsRefused);
    if (!request_.simulates) all.check_inputs(request_.config);
    if (all.size() < sweep_.points()) {
      const auto missing = all.missing(0, 1, sweep_.points(), 1);
      throw InputError(fmt::format("{}: {} of {} points of {} are missing, the first is {}",
                                   files_.folder, sweep_.points() - all.size(), sweep_.points(),
                                   files_.name, missing.front()));
    }
    OutputFile rows(files_.rows(), kRows);
    OutputFile csv(files_.csv(), kCsv);
    csv.write(csv_row(sweep_csv_head(sweep_)));
    all.each(0, sweep_.points(), [&](std::string_view row) {
      rows.write(row);
      csv.write(csv_row(sweep_csv_cells(sweep_, Json::parse(row))));
      if (on_row) on_row(row);
    });
    write_file(files_.inputs(), inputs_json(all.inputs()).dump(1) + "\n", kInputs);
    csv.commit();
    rows.commit();
    std::error_code ignored;
    for (const std::string& file : journals)
      fs::remove(file, ignored);
    terminal.err << "wrote " << files_.rows() << " and " << files_.csv() << "\n";
  }

 private:
  Json inputs_json(const NamedDigests& inputs) const {
    Json json{{"format", "steptime-inputs"},
              {"version", 1},
              {"steptime", STEPTIME_VERSION},
              {"name", files_.name},
              {"sha1", Json::object()}};
    for (const auto& [name, digest] : inputs)
      json["sha1"][name] = digest;
    return json;
  }
  void find(const std::vector<std::string>& journals) {
    for (const std::string& file : journals)
      finished_.add(file, identity_);
  }

  const SweepRequest& request_;
  const Sweep& sweep_;
  const SweepFiles& files_;
  SweepIdentity identity_;
  std::unique_ptr<JournalWriter> journal_;
  std::atomic<std::size_t> said_{0};  ///< inputs to the journal
  FinishedPoints finished_;
};

/// Which points are next: every `stride`-th that is not finished, fewer at once towards the end.
class NextPoints {
 public:
  NextPoints(const FinishedPoints& finished, const SweepShard& shard, std::int64_t points,
             int threads)
      : finished_(finished),
        next_(shard.number - 1),
        shard_(shard),
        points_(points),
        threads_(threads) {}

  std::vector<std::int64_t> operator()(std::size_t most) {
    const std::int64_t left = (points_ - next_ + shard_.count - 1) / shard_.count;
    const auto share = static_cast<std::size_t>(std::max<std::int64_t>(left / (8 * threads_), 1));
    auto points = finished_.missing(next_, shard_.count, points_, std::min(most, share));
    next_ = points.empty() ? points_ : points.back() + shard_.count;
    return points;
  }

 private:
  const FinishedPoints& finished_;
  std::int64_t next_;
  SweepShard shard_;
  std::int64_t points_;
  std::int64_t threads_;
};

/// The same for several processes, which agree on what is missing.
class SharedPoints {
 public:
  SharedPoints(const FinishedPoints& finished, std::int64_t points, int threads,
               const SweepCrew& crew)
      : crew_(crew), threads_(threads) {
    constexpr auto kAll = std::numeric_limits<std::size_t>::max();
    const Json first = crew.member == 0 ? Json(finished.missing(0, 1, points, kAll)) : Json();
    missing_ = Json::parse(crew.first_ones(first.dump())).get<std::vector<std::int64_t>>();
  }

  std::vector<std::int64_t> operator()(std::size_t most) {
    const std::int64_t left = std::ssize(missing_) - taken_;
    const std::int64_t share = left / (8 * threads_ * crew_.members);
    const auto count = std::clamp<std::int64_t>(share, 1, static_cast<std::int64_t>(most));
    taken_ = crew_.take(count);
    const auto first = missing_.begin() + std::min(taken_, std::ssize(missing_));
    return {first, first + std::min(count, missing_.end() - first)};
  }

 private:
  const SweepCrew& crew_;
  std::int64_t threads_;
  std::vector<std::int64_t> missing_;
  std::int64_t taken_ = 0;  ///< by anybody, when this one last took some
};

SweepJob job_of(const SweepRequest& request, const std::string& name, std::int64_t points) {
  SweepJob job{.name = name,
               .points = points,
               .tasks = std::min(request.tasks, points),
               .threads = request.threads,
               .folder = request.folder.empty() ? "results" : request.folder,
               .args = {request.config}};
  for (const std::string& set : request.sets)
    job.args.insert(job.args.end(), {"--set", set});
  if (request.full) job.args.emplace_back("--full");
  return job;
}

/// Tables and CSV have no place for more than one job.
void say_whose(const SweepRequest& request, const RowPrinter& rows, const Terminal& terminal) {
  if (request.format == "jsonl" || request.format == "json" || rows.jobs() < 2) return;
  terminal.err << fmt::format(
      "note: the rows are the first job's; all {} stand under \"jobs\" in --format json\n",
      rows.jobs());
}

Exit exit_of(const SweepRequest& request, const RowPrinter& rows, const Terminal& terminal) {
  say_whose(request, rows, terminal);
  if (rows.failed() > 0) {
    // The table has told them all.
    const std::string first = request.format == "table" ? "" : "; the first: " + rows.first_error();
    terminal.err << fmt::format("{} of {} points failed{}\n", rows.failed(), rows.rows(), first);
    return Exit::kSweepHasFailures;
  }
  if (!request.strict || rows.unvalidated().empty()) return Exit::kOk;
  terminal.err << rows.unvalidated() << "\n";
  return Exit::kOutsideDomain;
}

}  // namespace

void check_config(const Sweep& sweep) {
  constexpr std::int64_t kMost = 10'000;  // points that are looked at
  PointRunner runner(sweep);
  std::string error;
  for (std::int64_t point = 0; point < std::min(sweep.points(), kMost); ++point) {
    try {
      runner.read(point);
      return;
    } catch (const InputError& e) {
      if (point > 0 && error != e.what()) return;
      error = e.what();
    }
  }
  throw InputError(error);
}

void check_sets(const Sweep& sweep, std::span<const std::string> sets) {
  for (const std::string& set : sets) {
    const std::string pointer = set.substr(0, set.find('='));
    for (const std::string& swept : sweep.pointers()) {
      if (pointer == swept) {
        throw InputError(fmt::format("--set {}: the sweep sets it; set /sweep/... instead", set));
      }
    }
  }
}

std::optional<SweepRequest> parse_sweep(const Verb& verb, std::span<const std::string> args,
                                        const Terminal& terminal, const Environment& environment) {
  SweepRequest request{.simulates = std::string_view(verb.name) != "merge"};
  std::string shard;
  po::options_description options("options");
  options.add_options()("format", po::value(&request.format)->default_value("table"),
                        "table, json, jsonl or csv")("set", po::value(&request.sets)->composing(),
                                                     kSetHelp)(
      "full", "rows carry buckets and the resolved config")(
      "strict", "exit 5 when a point is not validated by measurements");
  if (request.simulates) {
    options.add_options()("output,o", po::value(&request.folder),
                          "folder that gets NAME.jsonl and NAME.csv; every finished point is in "
                          "NAME.unfinished there within a second; NAME.inputs.json has the digests "
                          "of the files that it was computed from")(
        "resume", "go on with the points that are in the folder")(
        "jobs,j", po::value(&request.threads)->default_value(0),
        "threads; 0: one per processor, and one where several processes share the points")(
        "shard", po::value(&shard),
        "i/n: only every n-th point, into NAME.i-of-n.shard; auto, auto/n: as Slurm, Open MPI, "
        "Kubernetes, GNU parallel or HyperQueue number this process")(
        "emit", po::value(&request.emit),
        "slurm, parallel or k8s: prints a job that sweeps into the folder, instead of doing it")(
        "tasks", po::value(&request.tasks)->default_value(8), "of that job: shards");
  } else {
    options.add_options()("output,o", po::value(&request.folder)->required(),
                          "folder that has the shards, and gets NAME.jsonl and NAME.csv");
  }
  const auto values = parse_arguments(verb, args, options, {"CONFIG"}, terminal);
  if (!values) return std::nullopt;
  constexpr int kMostThreads = 4096;
  if (request.threads < 0 || request.threads > kMostThreads)
    throw InputError(
        fmt::format("--jobs: expected 0 to {}, got {}", kMostThreads, request.threads));
  check_format(request.format);
  if (!shard.empty()) request.shard = parse_shard(shard, environment);
  if (request.tasks < 1 && request.simulates)
    throw InputError(fmt::format("--tasks: must be at least 1, got {}", request.tasks));
  if (request.threads == 0) {
    const bool has_company =
        !request.shard.is_all() || !request.emit.empty() || ranks_of(environment) > 1;
    const unsigned processors = has_company ? 1 : std::thread::hardware_concurrency();
    request.threads = static_cast<int>(std::max(1U, processors));
  }
  request.config = (*values)["CONFIG"].as<std::string>();
  request.full = values->contains("full");
  request.strict = values->contains("strict");
  request.resume = request.simulates && values->contains("resume");
  if (request.folder.empty() && (request.resume || !request.shard.is_all()))
    throw InputError(
        fmt::format("--{}: expected -o, a folder", request.resume ? "resume" : "shard"));
  return request;
}

Exit run_sweep_command(const SweepRequest& request, const Terminal& terminal,
                       const SweepCrew& crew) {
  const Sweep sweep(load_document(request.config, request.sets));
  check_sets(sweep, request.sets);
  check_config(sweep);
  const SweepFiles files{request.folder, PointRunner(sweep).experiment().name};
  if (!request.emit.empty()) {
    EscapingOutput::is_data(terminal.out);
    terminal.out << job_script(request.emit, job_of(request, files.name, sweep.points()));
    return Exit::kOk;
  }
  const bool is_shared = static_cast<bool>(crew.take);
  std::optional<FiledSweep> filed;
  if (!request.folder.empty()) filed.emplace(request, sweep, files, crew);
  if (!request.simulates) {
    RowPrinter printer(sweep, request.format, terminal);
    filed->assemble(terminal, [&](std::string_view row) { printer.add(row); });
    printer.end("");
    return exit_of(request, printer, terminal);
  }
  spdlog::info("{}: {} points, {} threads", files.name, sweep.points(), request.threads);

  const FinishedPoints none;
  const FinishedPoints& before = filed ? filed->before() : none;
  if (filed && crew.member == 0) filed->check_finished();
  JournalWriter* const journal = filed ? filed->journal() : nullptr;
  // Those that share the points have them in order only at the end.
  RowPrinter printer(sweep, is_shared ? "" : request.format, terminal);
  std::atomic<bool> is_cut_off{false};  // the output
  std::int64_t in_order = 0;            // points that were looked at for the terminal
  const auto catch_up = [&](std::int64_t point) {
    if (!is_shared) before.each(in_order, point, [&](std::string_view row) { printer.add(row); });
    in_order = point + 1;
  };
  if (journal != nullptr)
    say_when_ended("points that are done are kept; --resume goes on with the others");
  SweepOptions run{.threads = request.threads, .full = request.full};
  if (is_shared)
    run.points = SharedPoints(before, sweep.points(), request.threads, crew);
  else
    run.points = NextPoints(before, request.shard, sweep.points(), request.threads);
  if (journal != nullptr) run.on_finished = [&](std::string_view row) { filed->append(row); };
  std::int64_t now_done = 0;
  run.on_row = [&](const SweepRow& row, std::string_view line) {
    ++now_done;
    if (is_shared) return;
    catch_up(row.point);
    printer.add(line);
  };
  run.stop = [&] {
    return terminal.is_interrupted() || is_cut_off || (journal != nullptr && journal->is_broken());
  };
  {
    ProgressLine progress(terminal);
    run.on_progress = [&](std::int64_t done, double points) {
      terminal.out.flush();
      if (!terminal.out) is_cut_off = true;
      const auto total = static_cast<double>(filed ? filed->wanted() : sweep.points());
      const auto old = static_cast<double>(before.size());
      progress.show((old + points) / total,
                    fmt::format("{}/{} points, ", before.size() + done, total));
    };
    run_sweep(sweep, run);
  }
  if (journal != nullptr) journal->flush();
  if (!terminal.out && !terminal.is_closed()) throw InputError("the output cannot be written");

  const std::int64_t wanted = filed ? filed->wanted() : sweep.points();
  std::int64_t done = before.size() + now_done;
  if (is_shared) done = before.size() + crew.sum(now_done);
  if (done < wanted) {
    const std::string state = fmt::format("{} of {} points are done", done, wanted);
    if (terminal.is_closed()) return Exit::kInterrupted;
    say_when_ended("");
    printer.end(state);
    terminal.err << fmt::format("interrupted: {}{}\n", state,
                                filed ? "; --resume goes on with the others" : "");
    return Exit::kInterrupted;
  }
  if (is_shared) {
    if (crew.member != 0) return Exit::kOk;
    RowPrinter all(sweep, request.format, terminal);
    filed->assemble(terminal, [&](std::string_view row) { all.add(row); });
    all.end("");
    return exit_of(request, all, terminal);
  }
  catch_up(sweep.points());
  printer.end("");
  if (journal != nullptr) {
    journal->complete();
    if (request.shard.is_all()) {
      filed->assemble(terminal, {});
    } else {
      terminal.err << fmt::format("wrote {}; steptime merge joins the shards\n",
                                  files.journal(request.shard, 0));
    }
  }
  return exit_of(request, printer, terminal);
}

}  // namespace steptime
