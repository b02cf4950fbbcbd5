// One experiment has one answer, whichever verb is asked: experiments drawn from the tables of
// keys, each by the functions that the verbs call. A result is compared as the text of its row, to
// the last digit.
//
// STEPTIME_DRAWS=<n> draws as many, STEPTIME_SEED=<seed> others.
#include "sim/config/output_files.h"
#include "sim/core/error.h"
#include "sim/core/limits.h"
#include "sim/drawing/report_data.h"
#include "sim/evidence/comparison.h"
#include "sim/experiment/explain.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/simulate.h"
#include "sim/sweeps/advise.h"
#include "sim/sweeps/run_sweep.h"
#include "sim/sweeps/sweep.h"
#include "tests/support/any_experiment.h"
#include "tests/support/drawn_experiments.h"
#include "tests/support/tiny_experiment.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr std::int64_t kDraws = 200;
constexpr std::int64_t kMostShown = 5;

std::int64_t draws() {
  const char* given = std::getenv("STEPTIME_DRAWS");
  return given != nullptr ? std::atoll(given) : kDraws;
}

std::shared_ptr<const Document> document_of(const Json& config) {
  return std::make_shared<Document>(Document{"drawn.json", config});
}

std::string text_of(const Result& result) {
  std::string text;
  append_json(text, result);
  return text;
}

/// The row of a result, or the reason why there is none.
template <class Run>
std::string answer_of(Run run) {
  try {
    return text_of(run());
  } catch (const InputError& e) {
    return e.what();
  } catch (const ModelFailure& e) {
    return e.what();
  }
}
std::string run_of(const Json& config) {
  return answer_of([&] { return simulate(read_experiment(document_of(config))); });
}
bool is_result(const std::string& answer) {
  return answer.starts_with("\"step_time_s\"");
}

/// Where two answers part, with a few words around.
std::string difference(const std::string& a, const std::string& b) {
  constexpr std::size_t kBefore = 60;
  constexpr std::size_t kShown = 200;
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto at = static_cast<std::size_t>(in_a - a.begin());
  const std::size_t from = at < kBefore ? 0 : at - kBefore;
  return fmt::format("...{}\n    ...{}", a.substr(from, kShown), b.substr(from, kShown));
}

/// What differs between two experiments, as axes of a sweep: a few pointers of a key in a section,
/// or of a whole section, each with the values of both, once or twice.
Json axes_between(ExperimentDraw& draw, const Json& a, const Json& b) {
  constexpr int kMostAxes = 3;
  std::vector<std::string> pointers;
  for (const char* section : {"workload", "cluster", "strategy", "run"}) {
    const Json of_a = a.value(section, Json::object());
    const Json of_b = b.value(section, Json::object());
    if (of_a == of_b) continue;
    if (draw.one_in(3) && a.contains(section) && b.contains(section)) {
      pointers.push_back(std::string("/") + section);
      continue;
    }
    Json both = of_a;
    both.update(of_b);
    for (const auto& [key, unused] : both.items()) {
      if (of_a.value(key, Json()) != of_b.value(key, Json()))
        pointers.push_back(fmt::format("/{}/{}", section, key));
    }
  }
  Json axes = Json::object();
  for (int i = 0; i < kMostAxes && !pointers.empty(); ++i) {
    const std::int64_t k = draw.between(0, std::ssize(pointers) - 1);
    const std::string pointer = pointers[static_cast<std::size_t>(k)];
    pointers.erase(pointers.begin() + k);
    const Json::json_pointer at(pointer);
    const auto value = [&](const Json& of) { return of.contains(at) ? of.at(at) : Json(); };
    axes[pointer] = draw.one_in(2) ? Json::array({value(a), value(b), value(a)})
                                   : Json::array({value(b), value(a)});
  }
  return axes;
}

/// The config of a point, put together by hand.
Json config_of(const Sweep& sweep, std::int64_t point) {
  Json config = sweep.document().root;
  config.erase("sweep");
  const std::vector<std::string> pointers = sweep.pointers();
  const std::vector<SweptValue> values = sweep.values(point);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    if (values[i].value.is_null())
      out.push_back(pointers[i]);
    else
      *place_in_experiment(config, pointers[i]) = values[i].value;
  }
  take_out(config, std::move(out));
  return config;
}

/// The answers of a sweep's points, by so many threads; of a shard, only each so many-th point.
std::map<std::int64_t, std::string> rows_of(const Sweep& sweep, int threads,
                                            std::int64_t every = 1) {
  std::map<std::int64_t, std::string> rows;
  SweepOptions options{.threads = threads};
  options.on_row = [&](const SweepRow& row, std::string_view) {
    rows[row.point] = row.result ? text_of(*row.result) : row.error;
  };
  std::int64_t next = 0;
  if (every > 1) {
    options.points = [&](std::size_t) {
      std::vector<std::int64_t> points;
      if (next < sweep.points()) points.push_back(std::exchange(next, next + every));
      return points;
    };
  }
  run_sweep(sweep, options);
  return rows;
}

/// Counts what was asked, what answered, and what differed.
class Ledger {
 public:
  void expect_same(const std::string& who, const Json& config, const std::string& a,
                   const std::string& b) {
    ++asked_[who];
    if (a == b) return;
    if (++different_[who] > kMostShown) return;
    ADD_FAILURE() << who << " says another thing than run, of\n  " << config.dump() << "\n    "
                  << difference(a, b);
  }
  void expect_step(const std::string& who, const Json& config, double a, double b) {
    expect_same(who, config, fmt::format("{} s", a), fmt::format("{} s", b));
  }
  /// The verb has another reason to refuse the experiment.
  void add_refusal(const std::string& who) { ++refused_[who]; }

  void print() const {
    for (const auto& [who, count] : asked_) {
      fmt::print("  {:24} {:6} answers, {} refused, {} differ\n", who, count, at(refused_, who),
                 at(different_, who));
    }
  }
  std::int64_t answers(const std::string& who) const { return at(asked_, who); }

 private:
  using Counts = std::map<std::string, std::int64_t>;
  static std::int64_t at(const Counts& counts, const std::string& who) {
    const auto found = counts.find(who);
    return found == counts.end() ? 0 : found->second;
  }
  Counts asked_;
  Counts refused_;
  Counts different_;
};

/// The step that `advise` and `explain` begin with: the listener ends them behind it.
double base_of_advise(const Json& config) {
  const OnProgress ends = [](double) { throw Interrupted(); };
  return advise(document_of(config), {.keeps_partial = true}, ends).step_time_s;
}
Result base_of_explain(const Json& config) {
  const OnProgress ends = [](double share) {
    if (share > 0) throw Interrupted();
  };
  return explain(document_of(config), {.keeps_partial = true}, ends).result;
}
/// Without what a result has only where all is asked for.
Result in_short(Result result) {
  result.attribution.clear();
  result.links.clear();
  return result;
}

/// A sweep that visits the experiment and its neighbours, in an order of its own: each row is what
/// the same point gives alone.
void sweep_of(const Json& config, const Json& other, std::uint32_t number, Ledger& ledger) {
  ExperimentDraw draw(number, seed_of_the_run());
  Json swept = config;
  swept["sweep"] = axes_between(draw, config, other);
  if (swept["sweep"].empty()) return;
  const Sweep sweep(document_of(swept));
  const auto rows = rows_of(sweep, 1);
  std::map<std::string, std::string> alone;
  for (const auto& [point, row] : rows) {
    const Json one = config_of(sweep, point);
    const auto [known, is_new] = alone.try_emplace(one.dump());
    if (is_new) known->second = run_of(one);
    ledger.expect_same("row of a sweep", swept, known->second, row);
  }
  for (const auto& [point, row] : rows_of(sweep, 1, 3))
    ledger.expect_same("row of a shard", swept, rows.at(point), row);
  if (number % 4 != 0) return;
  for (const auto& [point, row] : rows_of(sweep, 2))
    ledger.expect_same("row of two threads", swept, rows.at(point), row);
}

TEST(OneAnswer, WhicheverVerbIsAsked) {
  Ledger ledger;
  std::int64_t refused = 0;
  std::map<std::string, std::int64_t> refused_for;
  NamesReached reached;
  Json before;
  const std::int64_t all = draws();
  for (std::uint32_t i = 0; i < all; ++i) {
    SchemaDraw schema(i, seed_of_the_run());
    const SchemaName wanted = reached.rarest();
    const std::optional<Json> drawn = schema.with_name(wanted);
    const std::string answer = drawn ? run_of(*drawn) : schema.refusal();
    if (!is_result(answer)) {
      reached.add_refusal(wanted);
      ++refused;
      ++refused_for[answer.substr(0, answer.find(": ", answer.find(": ") + 1))];
      continue;
    }
    const Json& config = *drawn;
    reached.add(config);
    const Result result = simulate(read_experiment(document_of(config)));
    const Json once = resolved(config);
    ledger.expect_same("config of its config", config, once.dump(), resolved(once).dump());
    ledger.expect_same("run of its config", config, answer, run_of(once));
    if (config.value("run", Json::object()).contains("convergence"))
      ledger.add_refusal("explain");  // it varies a step of the same experiment without it
    else
      ledger.expect_same("explain", config, text_of(in_short(result)),
                         answer_of([&] { return in_short(base_of_explain(config)); }));
    if (i % 4 == 0) {
      try {
        ledger.expect_step("advise", config, result.step_time_s, base_of_advise(config));
      } catch (const InputError&) {
        ledger.add_refusal("advise");
      }
    }
    if (!before.is_null()) sweep_of(config, before, i, ledger);
    before = config;
  }
  fmt::print("one answer: seed {}, {} draws, {} refused\n", seed_of_the_run(), all, refused);
  for (const auto& [place, count] : refused_for)
    fmt::print("  refused {:4}: {}\n", count, place);
  ledger.print();
  EXPECT_LE(2 * refused, all);
  EXPECT_GE(ledger.answers("explain"), all / 4);
  EXPECT_GE(ledger.answers("advise"), all / 100);
}

/// What a shell gives for a command, and its exit code.
std::string said_by(const std::string& command, int& exit) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");  // NOLINT(cert-env33-c)
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, pipe)) > 0;)
    text.append(part, n);
  exit = pclose(pipe);
  return text;
}

// The program itself, with files: run, run of the config that its result has, explain, sweep, pin
// and the page of report. STEPTIME_DRAWN=<file> keeps each config with its step, for the test of
// the Python module.
TEST(OneAnswer, OfTheProgramItself) {
  constexpr int kExperiments = 20;
  const TinyFolder folder;
  std::string kept;
  int asked = 0;
  for (std::uint32_t i = 0; asked < kExperiments; ++i) {
    SchemaDraw schema(5000 + i, seed_of_the_run());
    const std::optional<Json> drawn = schema.config();
    if (!drawn || drawn->value("run", Json::object()).contains("convergence")) continue;
    if (!is_result(run_of(*drawn))) continue;
    ++asked;
    Json config = *drawn;
    config["name"] = "drawn";
    const std::string file = folder.write("drawn.json", config.dump());
    const auto ask = [&](const std::string& verb, const std::string& on, const char* more) {
      int exit = 0;
      const std::string command = fmt::format("cd '{}' && '{}' {} '{}' {} 2>errors",
                                              folder.path(""), STEPTIME_PROGRAM, verb, on, more);
      std::string text = said_by(command, exit);
      EXPECT_EQ(exit, 0) << command << "\n" << folder.read("errors") << config.dump();
      return text;
    };
    const Json run = Json::parse(ask("run", file, "--format json"));
    const Json& step = run.at("step_time_s");
    const std::string again = folder.write("again.json", run.at("config").dump());
    EXPECT_EQ(Json::parse(ask("run", again, "--format json")).at("step_time_s"), step)
        << config.dump();
    EXPECT_EQ(Json::parse(ask("explain", file, "--format json")).at("step_time_s"), step)
        << config.dump();
    EXPECT_EQ(Json::parse(ask("sweep", file, "--format json -j 2 -o rows")).at(0).at("step_time_s"),
              step)
        << config.dump();
    ask("pin", file, "-o pins");
    const std::string pin = folder.read("pins/drawn.json");
    EXPECT_NE(pin.find(fmt::format("\"step_time_s\":{}", step.dump())), std::string::npos)
        << config.dump() << "\n"
        << pin;
    const Json page = report_data(document_of(config), 1);
    EXPECT_EQ(page.at("result").at("step_time_s"), step) << config.dump();
    kept += Json{{"config", config}, {"step_time_s", step}}.dump() + "\n";
  }
  if (const char* file = std::getenv("STEPTIME_DRAWN"); file != nullptr) write_file(file, kept);
}

}  // namespace
}  // namespace steptime
