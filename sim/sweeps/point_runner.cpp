#include "sim/sweeps/point_runner.h"

#include "sim/core/error.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/runs/execution_of.h"
#include "sim/layouts/plan_layout.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace steptime {

/// For every part, the axes that it depends on and the experiments built for their places so far.
struct PointRunner::State {
  struct Cache {
    std::vector<std::size_t> axes;
    std::map<std::int64_t, Experiment> built;  ///< only the one part of each is used
    std::optional<std::int64_t> in_use;        ///< which of them the experiment has

    /// Depends on the axes that vary slowest, all of them: no place comes back once it is left.
    bool is_never_back() const {
      for (std::size_t i = 0; i < axes.size(); ++i) {
        if (axes[i] != i) return false;
      }
      return true;
    }
  };
  static constexpr std::size_t kMostBuilt = 1024;  // per part: bounds the memory of a huge sweep

  explicit State(const Sweep& s) : sweep(s), document(std::make_shared<Document>(s.document())) {
    document->root.erase("sweep");
    takes_out = std::ranges::any_of(sweep.axes(), [](const Axis& axis) {
      return std::ranges::any_of(axis.values, [](const std::vector<SweptValue>& values) {
        return std::ranges::any_of(values, [](const SweptValue& v) { return v.value.is_null(); });
      });
    });
    // A place that is created moves its neighbours, so all are created before any is kept.
    for (const std::string& pointer : sweep.pointers()) {
      place_in_experiment(document->root, pointer);
    }
    const bool may_have_layout = speaks_of_layout();
    const bool is_cut = has_layout_at_every_point();
    for (std::size_t a = 0; a < sweep.axes().size(); ++a) {
      for (const std::string& pointer : sweep.axes()[a].pointers) {
        slots.push_back(place_in_experiment(document->root, pointer));
        for (const Part part : kParts) {
          if ((part == Part::kCutModel || part == Part::kLayout) && !may_have_layout) continue;
          if (part == Part::kJobs && !document->root.contains("jobs")) continue;
          auto& axes = caches[static_cast<std::size_t>(part)].axes;
          if (depends_on(part, pointer, is_cut) && (axes.empty() || axes.back() != a))
            axes.push_back(a);
        }
      }
    }
    const Config config(document, experiment_params());
    experiment.name = read_name(config);
    experiment.file = document->file;
  }

  /// Any point's strategy may. What speaks of none has none at every point.
  bool speaks_of_layout() const {
    const auto& swept = sweep.pointers();
    if (std::any_of(swept.begin(), swept.end(),
                    [](std::string_view pointer) { return overlap(pointer, "/strategy/layout"); }))
      return true;
    const Json strategy = document->root.value("strategy", Json::object());
    const Params& keys = layout_strategy_params();
    return !strategy.is_object() || strategy.contains("stack") ||
           std::any_of(keys.begin(), keys.end(),
                       [&](const Param& p) { return strategy.contains(p.key); });
  }

  /// The document states one, and no point takes it out.
  bool has_layout_at_every_point() const {
    const Json strategy = document->root.value("strategy", Json::object());
    return strategy.is_object() && strategy.contains("layout") &&
           std::ranges::none_of(sweep.pointers(), [](std::string_view pointer) {
             return pointer == "/strategy" || pointer == "/strategy/layout";
           });
  }

  /// The places on a part's axes as one number.
  std::int64_t key(const Cache& cache) const {
    std::int64_t number = 0;
    for (const std::size_t a : cache.axes) {
      number = number * static_cast<std::int64_t>(sweep.axes()[a].values.size()) +
               static_cast<std::int64_t>(places[a]);
    }
    return number;
  }

  /// Copying values costs as much as a short run: only for who reads them.
  void write_document() {
    if (std::exchange(document_is_written, true)) return;
    if (takes_out) return write_anew();
    std::size_t slot = 0;
    for (std::size_t a = 0; a < places.size(); ++a) {
      for (const SweptValue& value : sweep.axes()[a].values[places[a]])
        *slots[slot++] = value.value;
    }
  }

  /// Of a sweep that takes keys out: all that stands around one may move, or not be there at all.
  /// What an experiment keeps of the document that it was read from stays as it is.
  void write_anew() {
    document = std::make_shared<Document>(sweep.document());
    document->root.erase("sweep");
    std::vector<std::string> out;
    for (std::size_t a = 0; a < places.size(); ++a) {
      const Axis& axis = sweep.axes()[a];
      for (std::size_t k = 0; k < axis.pointers.size(); ++k) {
        const Json& value = axis.values[places[a]][k].value;
        if (value.is_null())
          out.push_back(axis.pointers[k]);
        else
          *place_in_experiment(document->root, axis.pointers[k]) = value;
      }
    }
    take_out(document->root, std::move(out));
  }

  const Sweep& sweep;
  bool takes_out = false;           ///< a value of the sweep is null
  std::vector<std::size_t> places;  ///< where the point is on each axis
  std::shared_ptr<Document> document;
  bool document_is_written = false;  ///< it has the values of the point
  std::vector<Json*> slots;          ///< where each swept pointer's value stands
  Cache caches[std::size(kParts)];
  Experiment experiment;
};

PointRunner::PointRunner(const Sweep& sweep) : state_(std::make_unique<State>(sweep)) {}
PointRunner::~PointRunner() = default;
const Experiment& PointRunner::experiment() const {
  return state_->experiment;
}
const Json& PointRunner::config() const {
  state_->write_document();
  return state_->document->root;
}

const Experiment& PointRunner::read(std::int64_t point) {
  try {
    return read_parts(point);
  } catch (const InputError&) {
    // Which of several mistakes is told first must not depend on the parts that are there already.
    state_->write_document();
    (void)read_experiment(state_->document);
    throw;
  }
}

const Experiment& PointRunner::read_parts(std::int64_t point) {
  State& s = *state_;
  s.sweep.find(point, s.places);
  s.document_is_written = false;
  for (const Part part : kParts) {
    State::Cache& cache = s.caches[static_cast<std::size_t>(part)];
    const std::int64_t key = s.key(cache);
    if (cache.in_use == key) continue;
    cache.in_use.reset();
    auto found = cache.built.find(key);
    if (found == cache.built.end()) {
      s.write_document();
      read_part(s.document, part, s.experiment);
      if (!cache.is_never_back()) {
        if (cache.built.size() >= State::kMostBuilt) cache.built.clear();
        found = cache.built.emplace(key, Experiment{}).first;
        take_part(part, s.experiment, found->second);
      }
    } else {
      take_part(part, found->second, s.experiment);
    }
    cache.in_use = key;
  }
  complete(s.experiment, [&s] {
    s.write_document();
    return s.document;
  });
  return s.experiment;
}

Result PointRunner::run(std::int64_t point, std::vector<SentBucket>* buckets,
                        const OnProgress& on_progress) {
  return simulate(read(point), buckets, on_progress);
}

}  // namespace steptime
