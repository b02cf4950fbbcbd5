// What Python calls: experiments in, the bytes of the command line's JSON out. Python's side of it
// is steptime/__init__.py.
//
// Every function releases the interpreter's lock while it simulates, and asks now and then whether
// the user wants it to end. Nothing here handles a signal or prints.
#include "sim/command/verbs.h"
#include "sim/command/version.h"
#include "sim/config/input_files.h"
#include "sim/core/error.h"
#include "sim/core/limits.h"
#include "sim/evidence/collective_table.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/explain.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/result_text.h"
#include "sim/experiment/schema.h"
#include "sim/experiment/simulate.h"
#include "sim/network/read_cluster.h"
#include "sim/sweeps/advise.h"
#include "sim/sweeps/run_sweep.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace py = pybind11;

namespace steptime {
namespace {

/// Whether Python has a signal to handle that ends the call. From any thread, without the lock; the
/// one that called looks, as Python handles signals in no other than its main one, and at most ten
/// times a second.
class Interruption {
 public:
  bool is_wanted() {
    if (std::this_thread::get_id() != caller_) return is_wanted_;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_ || is_wanted_) return is_wanted_;
    next_ = now + std::chrono::milliseconds(100);
    const py::gil_scoped_acquire with_lock;
    return is_wanted_ = PyErr_CheckSignals() != 0;
  }
  /// For runs that take long.
  OnProgress listener() {
    return [this](double) {
      if (is_wanted()) throw Interrupted{};
    };
  }

 private:
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point next_{};
  std::atomic<bool> is_wanted_{false};
};

using Sets = std::vector<std::string>;

/// `path`: of the config; none: `text` is its JSON, whose files are seen from the current folder.
std::shared_ptr<const Document> document_of(const std::optional<std::string>& path,
                                            const std::string& text, const Sets& sets) {
  if (path) return load_document(*path, sets);
  constexpr const char* kName = "config";
  return with_sets(std::make_shared<Document>(Document{kName, parse_json(text, kName)}), sets);
}

/// Calls `of` without the interpreter's lock, as a command of its own.
template <class Of>
auto unlocked(Of of) {
  Interruption interruption;
  const InputFiles::Scope files;
  try {
    const py::gil_scoped_release without_lock;
    return of(interruption);
  } catch (const Interrupted&) {
    throw py::error_already_set();  // what the handler of the signal has raised
  } catch (const InputError& e) {
    throw InputError(one_line(e.what()));
  }
}

std::string run(const std::optional<std::string>& path, const std::string& text, const Sets& sets) {
  return unlocked([&](Interruption& interruption) {
    const auto document = document_of(path, text, sets);
    const Experiment experiment = read_experiment(document);
    std::vector<SentBucket> buckets;
    const Result result = simulate(experiment, &buckets, interruption.listener());
    NamedDigests inputs = InputFiles::all().noted(document->file);
    inputs.erase(input_name(document->file, document->file));
    return full_json(result, buckets, document->root, inputs).dump(2) + "\n";
  });
}

std::string sweep(const std::optional<std::string>& path, const std::string& text, const Sets& sets,
                  int threads) {
  return unlocked([&](Interruption& interruption) {
    const Sweep points(document_of(path, text, sets));
    check_sets(points, sets);
    check_config(points);
    std::string lines;
    SweepOptions options{.threads = threads};
    options.on_row = [&](const SweepRow&, std::string_view line) { lines += line; };
    options.stop = [&] { return interruption.is_wanted(); };
    run_sweep(points, options);
    if (interruption.is_wanted()) throw Interrupted{};
    return lines;
  });
}

std::string explained(const std::optional<std::string>& path, const std::string& text,
                      const Sets& sets) {
  return unlocked([&](Interruption& interruption) {
    return explain(document_of(path, text, sets), interruption.listener()).json().dump(2) + "\n";
  });
}

std::string advised(const std::optional<std::string>& path, const std::string& text,
                    const Sets& sets) {
  return unlocked([&](Interruption& interruption) {
    return advise(document_of(path, text, sets), interruption.listener()).json().dump(2) + "\n";
  });
}

/// Collectives that were asked for: reading a preset takes a thousand times as long as a time of
/// it. Used with the interpreter's lock only.
class KnownCollectives {
 public:
  using Asked =
      std::tuple<std::string, std::int64_t, std::int64_t, std::string, std::string, std::int64_t>;

  /// `asked`: preset, nodes, GPUs of each, collective, operation, version of the preset.
  const CollectiveModel& of(const Asked& asked) {
    if (last_ == nullptr || *last_asked_ != asked) {
      auto known = of_.find(asked);
      if (known == of_.end()) {
        auto model = unlocked([&](Interruption&) { return read(asked); });
        known = of_.emplace(asked, std::move(model)).first;
      }
      last_asked_ = &known->first;
      last_ = known->second.get();
    }
    return *last_;
  }

 private:
  static std::shared_ptr<const CollectiveModel> read(const Asked& asked) {
    const auto& [preset, nodes, gpus, collective, operation, unused] = asked;
    Json chosen{{"type", collective}};
    // A library's collective says which operation it is; the others are known by its name.
    if (collective == "nccl") chosen["operation"] = operation;
    if (collective != "nccl" && operation != "all-reduce") chosen["type"] = operation;
    auto document = std::make_shared<Document>(Document{
        "collective_time",
        Json{{"name", "collective"},
             {"cluster", {{"preset", preset}, {"nodes", nodes}, {"gpus_per_node", gpus}}},
             {"strategy", {{"aggregation", {{"type", "all-reduce"}, {"collective", chosen}}}}}}});
    return std::make_shared<const CollectiveModel>(std::move(document));
  }

  std::map<Asked, std::shared_ptr<const CollectiveModel>> of_;
  const Asked* last_asked_ = nullptr;
  const CollectiveModel* last_ = nullptr;
};

/// When the preset was edited, if it is a file of the user's: it may be again before the next call.
std::int64_t version_of(const std::string& preset) {
  static const auto shipped = [] {
    const auto presets = cluster_presets();
    return std::map<std::string, std::string>(presets.begin(), presets.end());
  }();
  if (shipped.contains(preset)) return 0;
  std::error_code is_missing;
  const auto edited = std::filesystem::last_write_time(preset, is_missing);
  return is_missing ? 0 : edited.time_since_epoch().count();
}

/// s
double collective_time(const std::string& preset, std::int64_t gpus, const std::string& operation,
                       std::int64_t bytes, std::int64_t nodes, const std::string& collective) {
  static auto& known = *new KnownCollectives;  // lives as long as threads of Python's may
  try {
    return known.of({preset, nodes, gpus, collective, operation, version_of(preset)})
               .row(bytes)
               .time_us *
           1e-6;
  } catch (const InputError& e) {
    throw InputError(one_line(e.what()));
  }
}

/// File and JSON pointer at the beginning of a message "FILE: /pointer: what".
std::optional<std::array<std::string, 2>> place_of(const std::string& message) {
  const auto file = message.find(": /");
  const auto pointer = file == message.npos ? file : message.find(": ", file + 2);
  if (pointer == message.npos) return std::nullopt;
  return std::array{message.substr(0, file), message.substr(file + 2, pointer - file - 2)};
}

/// What does not depend on an experiment, as JSON.
template <class Of>
std::string of_program(Of of) {
  return unlocked([&](Interruption&) { return of().dump(2) + "\n"; });
}

}  // namespace
}  // namespace steptime

PYBIND11_MODULE(_steptime, m) {
  using namespace steptime;
  // The class that is registered last is tried first.
  py::register_exception<InternalError>(m, "InternalError", PyExc_RuntimeError);
  py::register_exception<MissingError>(m, "MissingError", PyExc_RuntimeError);
  py::register_exception<ModelFailure>(m, "ModelFailure", PyExc_RuntimeError);
  const auto& input_error = py::register_exception<InputError>(m, "InputError", PyExc_ValueError);
  const py::object property = py::module_::import("builtins").attr("property");
  const auto add_place = [&](const char* name, std::size_t part) {
    const auto get = [part](const py::object& error) -> std::optional<std::string> {
      const auto place = place_of(py::str(error));
      return place ? std::optional((*place)[part]) : std::nullopt;
    };
    py::setattr(input_error, name, property(py::cpp_function(get)));
  };
  add_place("file", 0);
  add_place("pointer", 1);
  m.def("run", &run, py::arg("path"), py::arg("text"), py::arg("sets"));
  m.def("sweep", &sweep, py::arg("path"), py::arg("text"), py::arg("sets"), py::arg("threads"));
  m.def("explain", &explained, py::arg("path"), py::arg("text"), py::arg("sets"));
  m.def("advise", &advised, py::arg("path"), py::arg("text"), py::arg("sets"));
  m.def("collective_time", &collective_time, py::arg("preset"), py::arg("gpus"),
        py::arg("operation"), py::arg("bytes"), py::arg("nodes"), py::arg("collective"));
  m.def("names", [] { return of_program([] { return names_by_kind(); }); });
  m.def("schema", [] { return of_program([] { return experiment_schema(); }); });
  m.def("version", [] { return version_with_commit(); });
}
