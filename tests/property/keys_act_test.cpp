// Does every key act, or does the program say that it does not?
#include "sim/experiment/result_text.h"
#include "tests/support/any_experiment.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

std::uint32_t draws_of_a_key() {
  constexpr int kInTheSuite = 24;
  const char* given = std::getenv("STEPTIME_DRAWS");
  return static_cast<std::uint32_t>(given != nullptr ? std::atoi(given) : kInTheSuite);
}

/// Another value of a key: three times as large, or as small, the other answer, another word.
Json other_value(SchemaDraw& draw, const Param& p, const Json& value, int attempt) {
  const double factor = attempt % 2 == 0 ? 3 : 1. / 3;
  if (p.kind == Kind::kBoolean) return !value.get<bool>();
  if (p.kind == Kind::kNumber && value.is_number() && value != 0)
    return value.get<double>() * factor;
  if (p.kind == Kind::kInteger && value.is_number_integer() && value != 0) {
    const auto n = value.get<std::int64_t>();
    return attempt % 2 == 0 ? n * 3 : attempt == 1 ? n + 1 : std::max<std::int64_t>(n / 3, 1);
  }
  if (p.kind <= Kind::kTimePerByte && value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const std::size_t end = text.find_first_not_of("0123456789.eE");
    const double number = std::stod(text);
    if (number != 0 && end != std::string::npos) {
      const double changed = number * factor;
      return fmt::format("{}{}", changed, text.substr(end));
    }
  }
  for (int i = 0; i < 20; ++i) {
    const Json other = draw.value(p);
    if (other != value) return other;
  }
  return value;
}

/// All figures, without what names the experiment.
std::optional<Json> figures_of(const Json& config, std::string& why) {
  try {
    const auto document = SchemaDraw::document_of(config);
    const Experiment e = read_experiment(document);
    check_keys_act(document);
    std::vector<SentBucket> buckets;
    const Result result = simulate(e, &buckets);
    Json figures = full_json(result, buckets, config);
    figures.erase("fingerprint");
    figures.erase("config");
    return figures;
  } catch (const InputError& refusal) {
    why = refusal.what();
  } catch (const ModelFailure& failure) {
    why = failure.what();
  } catch (const std::exception& bug) {
    ADD_FAILURE() << bug.what() << " in " << config.dump();
  }
  return std::nullopt;
}

/// A key that acts only in some experiments, which the draws seldom find, and why.
struct SometimesActs {
  std::string_view key;  ///< its table and its name, or a table with all its keys
  std::string_view why;
};
constexpr std::array kSometimes{
    SometimesActs{"/cluster node", "a graph is written out whole; presets have theirs"},
    SometimesActs{"/cluster/gpus count", "it limits gpus_per_node, and changes no figure"},
    SometimesActs{"/cluster/gpus cpu", "NCCL's, between sockets"},
    SometimesActs{"/cluster/gpus links", "NCCL's; most take keys of their own"},
    SometimesActs{"/cluster/gpus links_per_gpu", "NCCL's"},
    SometimesActs{"/cluster/gpus matrix", "NCCL's, of all GPUs of a node"},
    SometimesActs{"/cluster/gpus nic_near_gpu", "NCCL's, of several nodes"},
    SometimesActs{"/cluster/gpus pcie_bandwidth", "NCCL's, where NVLink closes no ring"},
    SometimesActs{"/cluster/messages eager_limit", "beside overheads, of messages of that size"},
    SometimesActs{"/run/convergence evaluated", "of updates that have a centre"},
    SometimesActs{"/run/variation preset", "there is one"},
    SometimesActs{"/run/variation slow_chance", "by the seed, few GPUs are slow"},
    SometimesActs{"/workload device_model", "there is one"},
    SometimesActs{"/workload gathers", "of tensor ranks with sequence parallelism"},
    SometimesActs{"aggregation kvstore calls", "the embedding module has its own"},
    SometimesActs{"aggregation kvstore threads", "of merges in host memory"},
    SometimesActs{"collective nccl operation", "an aggregation takes sums only"},
    SometimesActs{"collective profile file", "none is shipped"},
    SometimesActs{"collective profile operation", "no profile is shipped"},
    SometimesActs{"collective push-pulls model", "a list of models by file"},
    SometimesActs{"collective table extrapolate", "of sizes outside the table"},
    SometimesActs{"embedding concum communicators", "of several keys under way"},
    SometimesActs{"embedding concum order", "where a thread has a choice"},
    SometimesActs{"embedding concum priority", "where a thread has a choice"},
    SometimesActs{"embedding depcha order", "where a thread has a choice"},
    SometimesActs{"embedding depcha threads", "a dummy variable orders the calls"},
    SometimesActs{"embedding funnel priority", "where a thread has a choice"},
    SometimesActs{"pipeline-order interleaved microbatch_group", "of many micro-batches"},
    SometimesActs{"recompute full every", "of layers that a stage has many of"},
    SometimesActs{"schedule mg-wfbp a", "beside `b`, where merging goes another way"},
    SometimesActs{"schedule mg-wfbp b", "beside `a`, where merging goes another way"},
    SometimesActs{"states zero share_of_adapters", "of stage 3 over adapters, in closed form"},
    SometimesActs{"update esgd reading", "of what is learnt"},
    SometimesActs{"/cluster/node", "keys of a graph that is written out whole"},
    SometimesActs{"fabric graph", "keys of switches that are written out together"},
    SometimesActs{"fabric dragonfly", "two to eight nodes leave most of its links alone"},
    SometimesActs{"collective ring operation", "an aggregation takes sums only"},
    SometimesActs{"embedding concum threads", "few keys are under way at once"},
    SometimesActs{"overlap multiprocessors multiprocessors", "beside a collective's blocks"}};

bool is_listed(const std::string& id) {
  return std::any_of(kSometimes.begin(), kSometimes.end(), [&](const SometimesActs& each) {
    return id == each.key || id.starts_with(std::string(each.key) + " ");
  });
}

/// What a change of a key's value makes of an experiment.
enum class Change { kRefused, kNothing, kActs };

/// `at`: where the key stands, and `value`, when it was changed: what stands there then.
Change change_of(SchemaDraw& draw, const Json& config, const KeyPlace& at, Json& value) {
  std::string why;
  const auto before = figures_of(config, why);
  if (!before) return Change::kRefused;
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Json changed = config;
    Json& place = changed.at(Json::json_pointer(at.pointer));
    const Json was = place;
    place = Json::parse(other_value(draw, *at.param, was, attempt).dump());
    if (place == was) continue;
    const auto after = figures_of(changed, why);
    if (!after) continue;
    value = place;
    return *after == *before ? Change::kNothing : Change::kActs;
  }
  return Change::kRefused;
}

/// All keys but sections, by table and name.
std::set<std::pair<std::string, std::string>> all_keys() {
  std::set<std::pair<std::string, std::string>> keys;
  for (const SchemaRoute& route : schema_routes()) {
    const Param& p = *route.place.param;
    const bool is_section =
        p.kind == Kind::kObject && p.choice.empty() && p.need != Need::kOptional;
    if (!is_section && p.key != "jobs") keys.insert({route.place.table, p.key});
  }
  return keys;
}

// Each key has some experiment, at one of the fidelities, of which another value of it changes a
// figure; and where the program says that it has none at a fidelity, it changes none there.
TEST(EveryKey, ActsOrIsRefused) {
  const bool shows = std::getenv("STEPTIME_SHOW_KEYS") != nullptr;
  const char* only = std::getenv("STEPTIME_KEY");
  std::uint32_t number = 0;
  for (const auto& [table, key] : all_keys()) {
    number += 1000;
    const std::string id = table + " " + key;
    if (is_listed(id) || (only != nullptr && id.find(only) == std::string::npos)) continue;
    bool acts = false;
    std::string last = "no experiment has it";
    for (std::uint32_t i = 0; !acts && i < draws_of_a_key(); ++i) {
      SchemaDraw draw(number + i, 1);
      KeyPlace at;
      std::optional<Json> config = draw.with_key(table, key, 2, at);
      if (!config) continue;
      const std::string own = config->value("run", Json::object()).value("fidelity", "analytic");
      for (const std::string& fidelity :
           {own, std::string(own == "analytic" ? "message" : "analytic")}) {
        if (fidelity != own) (*config)["run"]["fidelity"] = fidelity;
        Json value;
        const Change change = change_of(draw, *config, at, value);
        if (change != Change::kRefused)
          last = fmt::format("{} in {}", value.dump(), config->dump());
        if (change != Change::kActs) continue;
        acts = true;
        const auto idle = keys_of_other_fidelity(SchemaDraw::document_of(*config));
        EXPECT_EQ(std::count(idle.begin(), idle.end(),
                             fmt::format("drawn.json: {}: no effect at {} fidelity", at.pointer,
                                         fidelity)),
                  0)
            << last;
        break;
      }
    }
    if (!acts && shows) fmt::print("idle: {}: {}\n", id, last);
    EXPECT_TRUE(acts) << id << " has no effect: " << last;
  }
}

TEST(EveryKey, ThatActsOnlySometimesHasAReason) {
  constexpr std::size_t kMost = 40;
  EXPECT_LE(kSometimes.size(), kMost);
  const auto keys = all_keys();
  for (const SometimesActs& each : kSometimes) {
    const bool is_known = std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
      return key.first == each.key || key.first + " " + key.second == each.key;
    });
    EXPECT_TRUE(is_known) << each.key;
  }
}

}  // namespace
}  // namespace steptime
