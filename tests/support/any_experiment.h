// Random experiments drawn from the tables of keys, so that a new key and a new registered name are
// drawn without an edit. A draw begins with a small experiment of one of some kinds, chooses one
// name of a registry, preset, device, model, stack or trace there, and then sets up to four other
// keys that the tables allow at their places. The same for any compiler: every number is a function
// of the seed, of the draw's number and of its place in the draw.
#pragma once
#include "sim/collective/reduce_tree.h"
#include "sim/command/verbs.h"
#include "sim/config/data_dir.h"
#include "sim/config/json.h"
#include "sim/config/key_use.h"
#include "sim/config/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "sim/experiment/key_places.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/layouts/plan_layout.h"
#include "sim/network/read_cluster.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {

/// A name that a key can choose: of a registry by its noun, or of a kind of shipped files.
struct SchemaName {
  std::string noun;
  std::string name;
  bool operator==(const SchemaName&) const = default;
};

/// A way to a key through what is chosen above it.
struct SchemaRoute {
  struct Choice {
    std::string pointer;
    std::string noun;  ///< "": an object that may be left out
    std::string name;
    const Param* object = nullptr;
  };
  std::vector<Choice> choices;  ///< from the outermost on
  KeyPlace place;
};

namespace schema_draw {

/// These keys are for people, or make many experiments of one.
inline bool is_left_out(const std::string& key) {
  return key == "$schema" || key == "name" || key == "description" || key == "sweep" ||
         key == "claims" || key == "type";
}

inline void add_routes(const Params& params, const std::string& pointer, const std::string& table,
                       std::vector<SchemaRoute::Choice>& above, std::vector<SchemaRoute>& routes) {
  for (const Param& p : params) {
    if (is_left_out(p.key) || p.key == "*") continue;
    const std::string at = join_pointer(pointer, p.key);
    routes.push_back({above, {at, &p, &params, table}});
    if (!p.choice.empty()) {
      for (const auto& [name, item] : Catalogue::all().at(p.choice)->items()) {
        above.push_back({at, p.choice, name});
        add_routes(item.params, at, fmt::format("{} {}", p.choice, name), above, routes);
        above.pop_back();
      }
    } else if (p.table != nullptr) {
      if (p.need == Need::kOptional) above.push_back({at, "", "", &p});
      add_routes(p.table(), at, at, above, routes);
      if (p.need == Need::kOptional) above.pop_back();
    }
  }
}

/// Makes a path of a shipped config absolute, so that it holds in a config of any folder.
inline Json of_any_folder(const Json& value, const std::filesystem::path& folder) {
  if (!value.is_string() || !value.get_ref<const std::string&>().starts_with(".")) return value;
  const auto path = (folder / value.get<std::string>()).lexically_normal();
  return std::filesystem::is_regular_file(path) ? Json(path.string()) : value;
}

inline void harvest(const Json& node, const std::filesystem::path& folder,
                    std::map<std::string, std::vector<Json>>& values) {
  if (node.is_array()) {
    for (const Json& each : node)
      harvest(each, folder, values);
  }
  if (!node.is_object()) return;
  for (const auto& [key, value] : node.items()) {
    if (key == "claims") continue;
    const std::string last = key.substr(key.rfind('/') + 1);
    const bool is_swept = key.starts_with('/') && value.is_array();
    for (const Json& each : is_swept ? value : Json::array({value})) {
      const Json whole = of_any_folder(each, folder);
      auto& known = values[last];
      if (std::find(known.begin(), known.end(), whole) == known.end()) known.push_back(whole);
    }
    harvest(value, folder, values);
  }
}

}  // namespace schema_draw

/// All keys of a config's tables, at the places where they stand or could stand.
inline std::vector<KeyPlace> places_of(const Json& config) {
  std::vector<KeyPlace> places;
  for_each_key(config, [&](const KeyPlace& place, const Json&, const Json&) {
    if (!schema_draw::is_left_out(place.param->key)) places.push_back(place);
  });
  return places;
}

/// What names a key chooses from: a registry's noun, a kind of shipped files, or "" of any other
/// key.
inline std::string noun_at(const KeyPlace& place, const Json& config) {
  static const std::map<std::string, std::string> kFiles{{"/cluster/preset", "preset"},
                                                         {"/workload/device", "device"},
                                                         {"/workload/trace", "trace"},
                                                         {"/strategy/stack", "stack"}};
  if (!place.param->choice.empty()) return place.param->choice;
  if (place.pointer == "/workload/model")
    return config.value("strategy", Json::object()).contains("layout") ? "shape" : "model";
  const auto file = kFiles.find(place.pointer);
  return file == kFiles.end() ? "" : file->second;
}

/// All names that a config chooses, its defaults and those of its preset included.
inline std::vector<SchemaName> names_of(const Json& config) {
  std::vector<SchemaName> names;
  for_each_key(config, [&](const KeyPlace& at, const Json&, const Json& v) {
    const Json name = v.is_object() ? v.value("type", Json()) : v;
    const std::string noun = noun_at(at, config);
    if (name.is_string() && !noun.empty()) names.push_back({noun, name});
  });
  return names;
}

/// The ways to every key of every table.
inline const std::vector<SchemaRoute>& schema_routes() {
  static const std::vector<SchemaRoute> all = [] {
    std::vector<SchemaRoute> routes;
    std::vector<SchemaRoute::Choice> above;
    schema_draw::add_routes(experiment_params(), "", "", above, routes);
    return routes;
  }();
  return all;
}

/// Every name of every choice that some key of an experiment can make.
inline const std::vector<SchemaName>& schema_names() {
  static const std::vector<SchemaName> all = [] {
    std::vector<SchemaName> names;
    const Json by_kind = names_by_kind();
    for (const char* kind : {"preset", "device", "model", "shape", "stack", "trace"}) {
      for (const Json& each : by_kind.at(kind))
        names.push_back({kind, each.at("name")});
    }
    std::map<std::string, bool> nouns;
    for (const SchemaRoute& route : schema_routes()) {
      if (!route.place.param->choice.empty()) nouns[route.place.param->choice] = true;
    }
    for (const auto& [noun, unused] : nouns) {
      for (const auto& [name, item] : Catalogue::all().at(noun)->items())
        names.push_back({noun, name});
    }
    return names;
  }();
  return all;
}

/// Those that draws are directed at: all but names of models and traces, which differ in sizes
/// only.
inline const std::vector<SchemaName>& directed_names() {
  static const std::vector<SchemaName> some = [] {
    std::vector<SchemaName> names = schema_names();
    std::erase_if(names, [](const SchemaName& each) {
      return each.noun == "model" || each.noun == "shape" || each.noun == "trace";
    });
    return names;
  }();
  return some;
}

/// How often experiments had each of the directed names.
class NamesReached {
 public:
  /// The name to draw next: the one that the fewest experiments had, tries that were refused
  /// included.
  const SchemaName& rarest() const {
    const auto least = std::min_element(tries_.begin(), tries_.end());
    return directed_names()[static_cast<std::size_t>(least - tries_.begin())];
  }
  void add(const Json& config) {
    for (const SchemaName& name : names_of(config)) {
      if (const auto place = place_of(name)) {
        ++tries_[*place];
        ++times_[*place];
      }
    }
  }
  void add_refusal(const SchemaName& name) { ++tries_[*place_of(name)]; }
  int times(const SchemaName& name) const { return times_[*place_of(name)]; }

 private:
  static std::optional<std::size_t> place_of(const SchemaName& name) {
    const auto& all = directed_names();
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end()) return std::nullopt;
    return static_cast<std::size_t>(found - all.begin());
  }
  std::vector<int> tries_ = std::vector<int>(directed_names().size());
  std::vector<int> times_ = tries_;
};

/// The values that shipped configs have under keys of a name.
inline const std::vector<Json>& shipped_values(const std::string& key) {
  static const std::map<std::string, std::vector<Json>> all = [] {
    std::map<std::string, std::vector<Json>> values;
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(data_dir() / "configs")) {
      if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      std::ifstream text(file);
      schema_draw::harvest(Json::parse(text), file.parent_path(), values);
    }
    return values;
  }();
  static const std::vector<Json> none;
  const auto found = all.find(key);
  return found == all.end() ? none : found->second;
}

class SchemaDraw {
 public:
  SchemaDraw(std::uint32_t number, std::int64_t seed)
      : stream_(seed, Purpose::kTest), number_(number) {}

  /// An experiment as a file would say it, with the name that the draw's number asks for; none
  /// where no config with it was accepted.
  std::optional<Json> config() {
    const auto& names = directed_names();
    return with_name(names[number_ % names.size()]);
  }
  /// The kinds of experiments that draws begin with.
  static std::vector<std::string> kinds() {
    std::vector<std::string> kinds;
    for (const Base& base : bases())
      kinds.emplace_back(base.kind);
    return kinds;
  }
  /// An experiment of a kind as a draw would begin with it; none where it was refused.
  std::optional<Json> of_kind(const std::string& kind) {
    const auto base = std::find_if(bases().begin(), bases().end(),
                                   [&](const Base& each) { return each.kind == kind; });
    kind_ = kind;
    Json config = as_parsed(base->make(*this));
    return is_accepted(config) ? std::optional(config) : std::nullopt;
  }
  /// With this name.
  std::optional<Json> with_name(const SchemaName& name) {
    static const Json kCut{{"strategy", {{"layout", Json::object()}}}};
    std::vector<const SchemaRoute*> routes;
    for (const SchemaRoute& route : schema_routes()) {
      if (noun_at(route.place, name.noun == "shape" ? kCut : Json::object()) == name.noun)
        routes.push_back(&route);
    }
    std::optional<Json> made = at_end_of(routes, [&](const SchemaRoute&) { return named(name); });
    if (!made) return made;
    const auto keeps = [&](const Json& changed) {
      const std::vector<SchemaName> all = names_of(changed);
      return std::find(all.begin(), all.end(), name) != all.end();
    };
    constexpr int kOtherNames = 5;
    for (int i = 0; i < kOtherNames; ++i)
      add_name(*made, keeps);
    add_keys(*made, between(0, 4), keeps);
    return made;
  }
  /// An experiment in which a key of a table (KeyPlace::table) is stated, and up to `more` other
  /// keys are; `place`: where.
  std::optional<Json> with_key(const std::string& table, const std::string& key, std::int64_t more,
                               KeyPlace& at) {
    std::vector<const SchemaRoute*> routes;
    for (const SchemaRoute& route : schema_routes()) {
      if (route.place.table == table && route.place.param->key == key) routes.push_back(&route);
    }
    std::optional<Json> made = at_end_of(routes, [&](const SchemaRoute& route) {
      at = route.place;
      return value(*route.place.param);
    });
    if (made)
      add_keys(*made, between(0, more),
               [&](const Json& changed) { return is_stated(changed, at.pointer); });
    return made;
  }
  /// Why the last config was refused; "" where none was.
  const std::string& refusal() const { return refusal_; }
  /// The kind of experiment that the draw began with.
  const std::string& kind() const { return kind_; }
  /// The config that was read last.
  const Json& last() const { return last_; }
  /// Pointers of keys that were tried and dropped, as the config was refused with them.
  const std::map<std::string, int>& dropped() const { return dropped_; }

  /// Whether `check` would accept it, as far as no step is simulated.
  bool is_accepted(const Json& config) {
    last_ = config;
    try {
      const auto document = document_of(config);
      const Experiment e = read_experiment(document);
      check_keys_act(document);
      check_training_run(e);
      constexpr std::int64_t kMostWorkers = 16;
      refusal_ =
          e.cluster->workers() > kMostWorkers ? "x: /cluster/nodes: too many for a test" : "";
      return refusal_.empty();
    } catch (const InputError& refused) {
      refusal_ = refused.what();
    } catch (const ModelFailure& refused) {  // a planner's that finds no tree
      refusal_ = refused.what();
    }
    return false;
  }
  static std::shared_ptr<const Document> document_of(const Json& config) {
    return std::make_shared<Document>(Document{"drawn.json", config});
  }

  /// A value that the table allows.
  Json value(const Param& p) {
    if (!p.choice.empty()) {
      const auto& items = Catalogue::all().at(p.choice)->items();
      return choice(p.choice, std::next(items.begin(), between(0, std::ssize(items) - 1))->first);
    }
    if (!p.words.empty() && (p.kind != Kind::kObject || one_in(2)))
      return p.words[index(p.words.size())];
    if (p.kind == Kind::kObject && p.table != nullptr) {
      Json made = object(p.table());
      for (const Param& inner : p.table()) {
        if (inner.need != Need::kRequired && inner.kind != Kind::kObject && one_in(3))
          made[inner.key] = value(inner);
      }
      return made;
    }
    if (const std::vector<Json> known = hints(p); !known.empty()) return known[index(known.size())];
    switch (p.kind) {
      case Kind::kTime:
        return in_range(p, {"0 s", "1 us", "7 us", "50 us", "0.4 ms", "3 ms"});
      case Kind::kBytes:
        return in_range(p, {"1 B", "1500 B", "4 KiB", "64 KiB", "1 MiB", "4 MB", "25 MiB"});
      case Kind::kBandwidth:
        return in_range(p, {"500 MB/s", "1 GB/s", "3 GB/s", "10 Gbps", "12.5 GB/s", "100 Gbps"});
      case Kind::kTimePerByte:
        return in_range(p, {"0 s/B", "0.03 ns/B", "0.1 ns/B", "1 ns/B"});
      case Kind::kInteger: {
        const double low = std::max(p.range.low, 0.0);
        constexpr double kFew = 7;
        return between(static_cast<std::int64_t>(low),
                       static_cast<std::int64_t>(std::min(p.range.high, low + kFew)));
      }
      case Kind::kNumber: {
        constexpr int kSteps = 8;
        const double low = std::max(p.range.low, 0.0);
        const double high = std::min(p.range.high, low + 2);
        return low + (high - low) * static_cast<double>(between(1, kSteps)) / kSteps;
      }
      case Kind::kBoolean:
        return one_in(2);
      default:
        break;
    }
    std::vector<Json> known;
    for (const Json& shipped : shipped_values(p.key)) {
      const bool fits = p.kind == Kind::kAny || (p.kind == Kind::kList && shipped.is_array()) ||
                        (p.kind == Kind::kObject && shipped.is_object()) ||
                        ((p.kind == Kind::kText || p.kind == Kind::kPath) && shipped.is_string());
      if (fits) known.push_back(shipped);
    }
    if (!known.empty()) return known[index(known.size())];
    return p.kind == Kind::kList     ? Json::array()
           : p.kind == Kind::kObject ? Json::object()
                                     : Json("auto");
  }
  /// The object of a registered name, with the keys that it requires, and few others.
  Json choice(const std::string& noun, const std::string& name) {
    Json made{{"type", name}};
    constexpr int kOneIn = 6;
    for (const Param& p : Catalogue::all().at(noun)->items().at(name).params) {
      const bool is_simple = p.kind < Kind::kText || !p.words.empty();
      if (p.key != "type" && (p.need == Need::kRequired || (is_simple && one_in(kOneIn))))
        made[p.key] = value(p);
    }
    return made;
  }

 private:
  std::int64_t between(std::int64_t least, std::int64_t most) {
    const double share = stream_.uniform(number_, next_++);
    return least + static_cast<std::int64_t>(share * static_cast<double>(most - least + 1));
  }
  bool one_in(std::int64_t n) { return between(1, n) == 1; }
  std::size_t index(std::size_t size) {
    return static_cast<std::size_t>(between(0, static_cast<std::int64_t>(size) - 1));
  }
  Json any(std::initializer_list<Json> values) { return *(values.begin() + index(values.size())); }

  Json in_range(const Param& p, std::initializer_list<const char*> values) {
    const std::size_t zeros = p.range.low_is_allowed || p.range.low < 0 ? 0 : 1;
    const std::size_t first = std::string_view(*values.begin()).starts_with("0 ") ? zeros : 0;
    return *(values.begin() + first + index(values.size() - first));
  }
  Json object(const Params& params) {
    Json made = Json::object();
    for (const Param& p : params) {
      if (p.key != "type" && p.need == Need::kRequired) made[p.key] = value(p);
    }
    return made;
  }
  Json shipped(const char* kind) {
    std::vector<std::string> names;
    for (const SchemaName& each : schema_names()) {
      if (each.noun == kind) names.push_back(each.name);
    }
    return names[index(names.size())];
  }

  /// Values of keys whose kind alone says too little, or from which a run would take long.
  std::vector<Json> hints(const Param& p) {
    const std::string& key = p.key;
    const auto is_quantity = p.kind == Kind::kTime;
    if (key == "preset") return {shipped("preset")};
    if (key == "device") return {shipped("device")};
    if (key == "stack") return {shipped("stack")};
    if (key == "trace") return {trace(), shipped("trace")};
    if (key == "model") return {small_model(), small_model(), shipped("model"), shape()};
    if (key == "compute_time") return {"20 ms", "60 ms"};
    if (key == "checkpoint") return {"1 min", "5 s"};
    if (key == "restart") return {"10 min", "1 min"};
    if (key == "interval" && is_quantity) return {"30 min", "2 h"};
    if (key == "target" || key == "forward_share") return {0.3, 0.5, 0.9};
    if (key == "learning_rate") return {0.01, 0.1};
    if (key == "epochs") return {0.1, 1};
    if (key == "per_node_and_day") return {0, 0.01, 0.5};
    if (key == "straggle_chance" || key == "chance" || key == "slow_chance" || key == "spread" ||
        key == "jitter")
      return {0, 0.02, 0.1, 0.3};
    if (key == "samples") return {16, 64};
    if (key == "dataset_samples") return {1000, 50000};
    if (key == "input") return {100, 1000};
    if (key == "global_batch") return {8, 16, 32, 64};
    if (key == "batch") return {1, 2, 8, 32};
    if (key == "clients") return {1, 2, 4};
    if (key == "sequence") return {128, 256, 512};
    if (key == "shape") return {Json{{"layers", 2}}, Json{{"layers", 4}, {"positions", 1024}}};
    if (key == "steps" && p.need == Need::kRequired) return {1000, 100000};  // of a whole training
    if (key == "seeds") return {1, 2, 3};
    if (key == "bound") return {1000, 100000};
    if (key == "partition" && p.kind == Kind::kInteger) return {100000, 1024000};
    if (key == "gpus" && p.kind == Kind::kList)
      return {Json::array({Json{{"node", 0}, {"speed", 0.8}}}),
              Json::array({Json{{"node", 0}, {"gpu", 0}, {"speed", 0.5}}})};
    if (key == "adapters" || (key == "nodes" && p.kind == Kind::kList)) {
      std::vector<Json> lists{Json::array({0}), Json::array({0, 1})};  // of slow links
      for (const int of : {2, 4}) {
        lists.push_back(Json::array({Json{{"node", 0}, {"factor", of}}}));  // of their adapters
        lists.push_back(Json::array({Json{{"node", 0}, {"after", fmt::format("{} h", of)}}}));
      }
      return lists;
    }
    if (key == "layers" && p.kind == Kind::kList) return {Json::array({0}), Json::array({0, 1})};
    if (key == "stages") return {"even", "short-ends", Json::array({1, 3})};
    if (key == "order" && p.words.empty())
      return {"tensor-context-data-pipeline", "data-tensor-context-pipeline",
              "tensor-context-pipeline-data", "pipeline-data-context-tensor"};
    if (key == "beside_compute") {
      Json list = Json::array();
      for (const char* each : {"gradients", "weights", "tensor", "input-gradients", "pipeline",
                               "pipeline-by-order", "context"}) {
        if (one_in(2)) list.push_back(each);
      }
      return {list};
    }
    if (key == "optimizer")
      return {"sgd", "sgd-momentum", "adam", "adamw", "lamb", "adam-loop", "bert-adam"};
    if (key == "version") return {"2.3.7", "2.4.8", "2.12.12", "2.18.3", "2.27.3", "auto"};
    if (key == "file")
      return {(data_dir() / "traces/k80/allreduce/osu_8.csv").string(),
              (data_dir() / "traces/k80/allreduce/osu_2.csv").string()};
    if (key == "compute_capability") return {60, 70, 80, 90};
    if (key == "vertices")
      return {Json::parse(R"([{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"},
                              {"name": "nic0", "kind": "nic"}])"),
              Json::array(
                  {Json{{"name", "leaf0"}, {"ports", 4}}, Json{{"name", "leaf1"}, {"ports", 4}}})};
    if (key == "count") return {4, 8};
    if (key == "links" && p.kind == Kind::kList)
      return {Json::parse(R"([{"ends": ["gpu0", "gpu1"], "latency": "1 us", "bandwidth": "10 GB/s"},
                              {"ends": ["gpu1", "nic0"], "latency": "1 us", "bandwidth": "10 GB/s"},
                              {"ends": ["gpu0", "nic0"], "latency": "9 us", "bandwidth": "2 GB/s"}])"),
              Json::array({Json{
                  {"ends", {"leaf0", "leaf1"}}, {"latency", "1 us"}, {"bandwidth", "3 GB/s"}}})};
    if (key == "radix") return {4, 8};
    if (key == "chunk" || key == "row") return {"64 KiB", "1 MiB"};  // a message for each
    return {};
  }

  // Small experiments to begin with.
  static Json trace() { return (data_dir() / "traces/k80/googlenet.json").string(); }
  Json small_model() {
    return any({"caffe/alexnet", "mxnet/alexnet", "tf/alexnet", "torch/alexnet", "torch/vgg16",
                "mxnet/resnet-50-cifar", "tf/vgg16"});
  }
  Json shape() { return any({"mpt-125m", "mpt-125m", "gpt2-xl", "llama-2-7b"}); }
  Json table() {
    return {{"model", small_model()}, {"device", shipped("device")}, {"batch", between(1, 32)}};
  }
  Json layers() { return one_in(2) ? Json{{"trace", trace()}} : table(); }
  Json link() {
    static const std::initializer_list<Json> kRates{"1 GB/s", "12.5 GB/s", "10 Gbps", "100 Gbps"};
    if (one_in(4)) return any({"10gbe", "25gbe", "edr-infiniband", "hdr-infiniband"});
    return {{"type", any({"switch", "switch", "rdma"})},
            {"latency", any({"2 us", "20 us", "0.2 ms"})},
            {"bandwidth", any(kRates)}};
  }
  Json machines(std::int64_t most_nodes, std::int64_t most_gpus) {
    Json cluster{{"nodes", between(1, most_nodes)}};
    if (one_in(2)) {
      cluster["preset"] = shipped("preset");
      if (!one_in(4)) cluster["gpus_per_node"] = any({1, 2, 4});
      return cluster;
    }
    cluster["gpus_per_node"] = between(1, most_gpus);
    cluster["network"] = link();
    cluster["intra_node"] = {{"type", "switch"}, {"latency", "1 us"}, {"bandwidth", "40 GB/s"}};
    if (one_in(3)) cluster["reduction"] = "0.1 ns/B";
    return cluster;
  }
  Json servers(const char* type) {
    Json made{{"type", type}, {"servers", between(1, 3)}};
    if (one_in(2)) made["placement"] = "with-workers";
    return made;
  }
  Json whole(Json workload, Json cluster, Json strategy) {
    Json config{{"name", "drawn"},
                {"workload", std::move(workload)},
                {"cluster", std::move(cluster)},
                {"strategy", std::move(strategy)}};
    if (one_in(2)) config["run"] = {{"fidelity", "message"}};
    return config;
  }
  Json transformer() {
    Json workload{{"model", shape()},       {"device", any({"a100", "h100", "v100", "b200"})},
                  {"sequence", 256},        {"batch", between(1, 2)},
                  {"precision", "float16"}, {"shape", {{"layers", 4}}}};
    if (one_in(2)) workload["optimizer"] = any({"adam", "sgd"});
    return workload;
  }
  Json tree() {
    const Catalogue& planners = *Catalogue::all().at(TreePlanner::kNoun);
    const auto name =
        std::next(planners.items().begin(), between(0, std::ssize(planners.items()) - 1));
    return {{"type", "tree"}, {"planner", name->first}};
  }
  Json degrees() {
    Json layout = Json::object();
    for (const char* each : {"tensor", "pipeline", "context"}) {
      if (one_in(3)) layout[each] = 2;
    }
    return layout;
  }

  struct Base {
    const char* kind;
    std::function<Json(SchemaDraw&)> make;
  };
  static const std::vector<Base>& bases() {
    using D = SchemaDraw;
    static const std::vector<Base> all{
        {"trace",
         [](D& d) {
           return d.whole({{"trace", trace()}}, d.machines(4, 4), Json::object());
         }},
        {"layer table", [](D& d) { return d.whole(d.table(), d.machines(4, 4), Json::object()); }},
        {"parameter-server",
         [](D& d) {
           return d.whole(d.layers(), d.machines(4, 2),
                          {{"aggregation", d.servers("parameter-server")}});
         }},
        {"hybrid",
         [](D& d) {
           Json cluster = d.machines(4, 2);
           Json aggregation = d.servers("hybrid");
           aggregation["clients"] = cluster["nodes"];
           return d.whole(d.layers(), cluster, {{"aggregation", aggregation}});
         }},
        {"BytePS",
         [](D& d) {
           Json cluster = d.machines(3, 4);
           Json aggregation = d.servers("hybrid");
           const bool scatters = d.one_in(2);
           aggregation.update(Json{{"clients", cluster["nodes"]},
                                   {"collective", scatters ? "reduce-scatter" : "reduce"},
                                   {"spread", scatters ? Json("all-gather")
                                                       : d.any({"broadcast", "chain-broadcast"})}});
           return d.whole(d.layers(), cluster, {{"aggregation", aggregation}});
         }},
        {"kvstore",
         [](D& d) {
           Json cluster = d.machines(1, 4);
           if (!cluster.contains("preset") && cluster["gpus_per_node"] == 1)
             cluster["gpus_per_node"] = 4;
           return d.whole(d.layers(), cluster, {{"aggregation", {{"type", "kvstore"}}}});
         }},
        {"kvstore with servers",
         [](D& d) {
           return d.whole(d.layers(), d.machines(3, 4), {{"aggregation", d.servers("kvstore")}});
         }},
        {"engine",
         [](D& d) {
           return d.whole(d.layers(), d.machines(4, 2),
                          {{"embedding", d.any({"funnel", "concum", "depcha"})}});
         }},
        {"module",
         [](D& d) {
           Json cluster = d.machines(1, 4);
           if (!cluster.contains("preset") && cluster["gpus_per_node"] == 1)
             cluster["gpus_per_node"] = 4;
           return d.whole(d.layers(), cluster,
                          {{"aggregation", {{"type", "kvstore"}}}, {"embedding", "module"}});
         }},
        {"coordinator",
         [](D& d) {
           return d.whole(d.layers(), d.machines(4, 4),
                          {{"transport", d.any({"horovod-nccl", "horovod-mpi", "baidu"})},
                           {"schedule", d.any({Json{{"type", "tensor-fusion"}, {"cycle", "0 s"}},
                                               Json("wfbp")})}});
         }},
        {"NCCL",
         [](D& d) {
           return d.whole(d.layers(),
                          {{"preset", d.any({"dgx-a100", "dgx-h100", "dgx-1-v100", "p3.16xlarge"})},
                           {"nodes", d.between(1, 3)}},
                          {{"transport", "nccl"}, {"schedule", d.any({"fixed-buckets", "wfbp"})}});
         }},
        {"one node of NVLinks",
         [](D& d) {
           return d.whole(
               d.layers(),
               {{"preset", d.any({"dgx-1-v100", "dgx-1-p100", "p3.16xlarge"})}, {"nodes", 1}},
               Json::object());
         }},
        {"layout",
         [](D& d) {
           return d.whole(
               d.transformer(),
               d.one_in(2)
                   ? Json{{"preset", d.any({"dgx-a100", "dgx-h100", "dgx-1-v100"})},
                          {"nodes", d.between(1, 2)}}
                   : Json{{"nodes", 2},
                          {"gpus_per_node", 4},
                          {"network", d.link()},
                          {"intra_node",
                           {{"type", "switch"}, {"latency", "1 us"}, {"bandwidth", "40 GB/s"}}}},
               {{"layout", d.degrees()}});
         }},
        {"stack",
         [](D& d) {
           Json workload = d.transformer();
           workload["precision"] = "bfloat16";
           workload["device"] = d.any({"a100", "h100", "b200"});
           return d.whole(workload,
                          {{"preset", d.any({"dgx-a100", "dgx-h100"})}, {"nodes", d.between(1, 2)}},
                          {{"layout", d.degrees()}, {"stack", d.shipped("stack")}});
         }},
        {"trees of NVLinks",
         [](D& d) {
           return d.whole(d.layers(),
                          {{"preset", d.any({"dgx-1-v100", "dgx-1-p100", "p3.16xlarge"})},
                           {"nodes", 1},
                           {"gpus_per_node", d.any({4, 8})}},
                          {{"aggregation", {{"type", "all-reduce"}, {"collective", d.tree()}}}});
         }},
        {"layout of any parts",
         [](D& d) {
           Json strategy{{"layout", d.degrees()}};
           for (const Param& p : layout_strategy_params()) {
             if (!p.choice.empty() && d.one_in(2)) strategy[p.key] = d.value(p);
           }
           return d.whole(d.transformer(), d.machines(2, 4), strategy);
         }},
        {"kvstore of NVLinks",
         [](D& d) {
           return d.whole(
               d.layers(),
               {{"preset", d.any({"dgx-1-v100", "dgx-1-p100", "p3.16xlarge"})},
                {"nodes", 1},
                {"gpus_per_node", d.any({4, 8})}},
               {{"aggregation",
                 {{"type", "kvstore"}, {"merge", d.any({d.tree(), d.tree(), "nccl", "local"})}}}});
         }},
        {"pipeline",
         [](D& d) {
           Json workload = d.transformer();
           workload["accumulate"] = 4;
           return d.whole(workload, d.machines(2, 4),
                          {{"layout", {{"pipeline", 2}}},
                           {"pipeline_order", d.any({"1f1b", "gpipe", "interleaved", "zb-h1"})}});
         }},
        {"layout of a trace",
         [](D& d) {
           return d.whole({{"trace", trace()}}, d.machines(3, 2), {{"layout", Json::object()}});
         }},
        {"jobs",
         [](D& d) {
           Json config = d.whole(d.layers(), {{"nodes", 4}, {"network", d.link()}}, Json::object());
           config["run"] = {{"fidelity", "message"}};

           config["jobs"] = Json::array({Json{{"nodes", Json::array({0, 2})}},
                                         Json{{"nodes", Json::array({1, 3})}, {"start", "3 ms"}}});
           return config;
         }},
        {"fabric",
         [](D& d) {
           Json cluster{{"nodes", d.between(2, 8)}, {"network", d.link()}};
           cluster["fabric"] =
               d.any({Json("ring"), Json{{"type", "fat-tree"}, {"radix", 4}},
                      Json{{"type", "dragonfly"}, {"groups", 2}, {"routers", 2}, {"hosts", 2}}});
           return d.whole(d.layers(), cluster, Json::object());
         }},
        {"learning",
         [](D& d) {
           Json config = d.one_in(2)
                             ? d.whole({{"trace", trace()}}, d.machines(3, 1),
                                       {{"aggregation", d.servers("parameter-server")},
                                        {"update", d.any({"sgd", "asgd", "esgd"})}})
                             : d.whole({{"trace", trace()}}, d.machines(3, 1), Json::object());
           const bool is_bowl = d.one_in(2);
           config["run"]["convergence"] = {
               {"problem", is_bowl ? Json{{"type", "quadratic"}, {"samples", 64}, {"noise", 0.3}}
                                   : d.any({"digits-mlp", "digits-softmax"})},
               {"epochs", is_bowl ? 2 : 0.2},
               {"batch", 8},
               {"learning_rate", 0.1}};
           return config;
         }},
        {"varied", [](D& d) {
           Json config =
               d.whole(d.layers(), d.machines(3, 2),
                       {{"update", d.any({"sgd", Json{{"type", "local-sgd"}, {"interval", 2}}})}});
           config["run"]["variation"] = {{"spread", 0.1}, {"seeds", 2}};
           config["run"]["steps"] = d.between(1, 4);
           return config;
         }}};
    return all;
  }

  /// As a file's text gives it, in which whole numbers have no sign.
  static Json as_parsed(const Json& value) { return Json::parse(value.dump()); }

  /// Sets a value; false: there is no such place.
  static bool set(Json& config, const std::string& pointer, Json value) {
    Json* const at = place_in_experiment(config, pointer);
    if (at == nullptr) return false;
    *at = as_parsed(value);
    return true;
  }

  /// A small experiment with a value at the end of one of some routes, and what is chosen on the
  /// way; the first of several attempts that is accepted.
  std::optional<Json> at_end_of(const std::vector<const SchemaRoute*>& routes,
                                const std::function<Json(const SchemaRoute&)>& value) {
    constexpr int kMostAttempts = 40;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      // Draws with numbers in a row begin with each of the kinds.
      const Base& base = bases()[attempt == 0 ? number_ % bases().size() : index(bases().size())];
      const SchemaRoute& route = *routes[index(routes.size())];
      kind_ = base.kind;
      Json config = as_parsed(base.make(*this));
      bool is_placed = true;
      for (const SchemaRoute::Choice& above : route.choices) {
        if (const Json* const now = stated(config, above.pointer); now != nullptr) {
          const Json name = now->is_object() ? now->value("type", Json()) : *now;
          if (above.object == nullptr ? name == above.name : now->is_object()) continue;
        }
        if (above.object != nullptr) {
          const std::string key = above.pointer.substr(above.pointer.rfind('/') + 1);
          const bool is_of_preset = above.pointer == "/cluster/" + key &&
                                    resolved_preset(config["cluster"]).contains(key);
          if (is_of_preset) continue;
          is_placed = is_placed && set(config, above.pointer, object(above.object->table()));
          continue;
        }
        is_placed = is_placed && set(config, above.pointer, choice(above.noun, above.name));
      }
      if (route.place.pointer == "/workload/trace") config["workload"] = Json::object();
      if (route.place.pointer == "/workload/model" || route.place.pointer == "/workload/device") {
        if (config["workload"].contains("trace")) config["workload"] = table();
      }
      if (!is_placed || !set(config, route.place.pointer, value(route))) continue;
      make_act(config, route.place);
      if (is_accepted(config) || has_partner(config, route.place)) return config;
    }
    return std::nullopt;
  }
  /// Whether the config is accepted with another key beside this one, which is set then.
  bool has_partner(Json& config, const KeyPlace& place) {
    const std::string around = place.pointer.substr(0, place.pointer.rfind('/'));
    if (around.empty()) return false;
    constexpr int kMostTries = 2;
    for (int i = 0; i < kMostTries; ++i) {
      const Param& partner = (*place.params)[index(place.params->size())];
      if (partner.key == place.param->key || schema_draw::is_left_out(partner.key)) continue;
      Json changed = config;
      if (!set(changed, join_pointer(around, partner.key), value(partner))) continue;
      if (!is_accepted(changed)) continue;
      config = std::move(changed);
      return true;
    }
    return false;
  }
  /// Draws anew what leaves a key without effect.
  void make_act(Json& config, const KeyPlace& place) {
    const std::string around = place.pointer.substr(0, place.pointer.rfind('/'));
    if (around.empty()) return;
    Json& object = config.at(Json::json_pointer(around));
    constexpr int kMostTries = 30;
    for (int i = 0; i < kMostTries; ++i) {
      const auto found = idle(*place.param, *place.params, object);
      if (!found) return;
      const std::string& key = found->beside[index(found->beside.size())];
      const auto beside = std::find_if(place.params->begin(), place.params->end(),
                                       [&](const Param& p) { return p.key == key; });
      object[key] = as_parsed(value(*beside));
    }
  }
  static const Json* stated(const Json& config, const std::string& pointer) {
    const Json::json_pointer at(pointer);
    return config.contains(at) ? &config.at(at) : nullptr;
  }

  Json named(const SchemaName& name) {
    return Catalogue::all().contains(name.noun) ? choice(name.noun, name.name) : Json(name.name);
  }

  /// Chooses another name at one of the places that the config has.
  void add_name(Json& config, const std::function<bool(const Json&)>& keeps) {
    std::map<std::string, std::vector<KeyPlace>> by_noun;
    for (const KeyPlace& place : places_of(config)) {
      if (const std::string noun = noun_at(place, config); !noun.empty())
        by_noun[noun].push_back(place);
    }
    const std::vector<SchemaName>& names = directed_names();
    const SchemaName& name = names[index(names.size())];
    const auto found = by_noun.find(name.noun);
    if (found == by_noun.end()) return;
    const std::vector<KeyPlace>& places = found->second;
    const KeyPlace& place = places[index(places.size())];
    try_value(config, place.pointer, named(name), keeps);
  }

  /// Sets a value, or else counts it as dropped.
  void try_value(Json& config, const std::string& pointer, Json value,
                 const std::function<bool(const Json&)>& keeps) {
    Json changed = config;
    if (!set(changed, pointer, std::move(value))) return;
    if (keeps(changed) && is_accepted(changed))
      config = std::move(changed);
    else
      ++dropped_[pointer];
  }

  /// Sets other keys, each of which is dropped where the config is refused with it, or `keeps` says
  /// that it does not hold any longer.
  void add_keys(Json& config, std::int64_t count, const std::function<bool(const Json&)>& keeps) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<KeyPlace> places = places_of(config);
      const KeyPlace place = places[index(places.size())];
      if (place.param->key == "jobs" ||
          (place.param->kind == Kind::kObject && place.param->choice.empty() &&
           place.param->need != Need::kOptional))
        continue;  // a section, whose keys are drawn
      try_value(config, place.pointer, value(*place.param), keeps);
    }
    refusal_.clear();
  }

  RandomStream stream_;
  std::uint32_t number_;
  std::uint32_t next_ = 0;
  std::string kind_;
  std::string refusal_;
  Json last_;
  std::map<std::string, int> dropped_;
};

}  // namespace steptime
