#include "sim/workload/variation.h"

#include "sim/config/binding.h"
#include "sim/config/key_use.h"
#include "sim/config/words.h"
#include "sim/core/random.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace steptime {
namespace {

/// So much of it that processors, which differ in the last digits of a power, round alike.
double kept(double value) {
  return std::round(value * 0x1p30) / 0x1p30;
}

/// Expected largest of so many (at least one) standard normal numbers: the integral of
/// 1 - P(z)^n - P(-z)^n over z > 0, with P the distribution of one, by the trapezoidal rule.
double largest_of(double n) {
  constexpr double kWidth = 1. / 32;
  constexpr int kEnd = 9 * 32;  // beyond nine standard deviations there is nobody
  double sum = 0;
  for (int i = 0; i <= kEnd; ++i) {
    const double above = std::erfc(i * kWidth / std::sqrt(2.)) / 2;
    const double part = 1 - std::pow(1 - above, n) - std::pow(above, n);
    sum += i == 0 ? part / 2 : part;
  }
  return sum * kWidth;
}

}  // namespace

double Variation::factor(std::int64_t seed, std::int64_t worker, std::int64_t step) const {
  const auto w = static_cast<std::uint32_t>(worker);
  const auto s = static_cast<std::uint32_t>(step);
  double factor = 1;
  if (spread > 0) {
    factor *= std::max(0.1, 1 + spread * RandomStream(seed, Purpose::kWorkerSpeed).normal(w, 0));
  }
  if (jitter > 0) {
    factor *= std::max(0.1, 1 + jitter * RandomStream(seed, Purpose::kStepTime).normal(w, s));
  }
  if (straggle_chance > 0 &&
      RandomStream(seed, Purpose::kStraggler).uniform(w, s) < straggle_chance) {
    factor *= straggle_factor;
  }
  if (slow_chance > 0 && RandomStream(seed, Purpose::kSlowGpu).uniform(w, 0) < slow_chance)
    factor /= slow_speed;
  for (const GpuSpeed& known : gpus) {
    const bool is_it = worker / gpus_per_node == known.node &&
                       (!known.gpu || worker % gpus_per_node == *known.gpu);
    if (is_it) factor /= known.speed;
  }
  return factor;
}

double Variation::most() const {
  double most = (1 + 6 * spread) * (1 + 6 * jitter) * straggle_factor / slow_speed;
  for (const GpuSpeed& known : gpus)
    most *= std::max(1.0, 1 / known.speed);
  return most;
}

double Variation::of_slowest(std::int64_t workers) const {
  const auto n = static_cast<double>(workers);
  const double sd = std::hypot(spread, jitter);
  const double slowest = 1 + sd * largest_of(n);
  const double any_straggles = 1 - std::pow(1 - straggle_chance, n);
  if (any_straggles == 0) return kept(slowest);
  // As many as straggle on average where one does.
  const double of_stragglers = 1 + sd * largest_of(n * straggle_chance / any_straggles);
  const double longer = std::max(0., straggle_factor * of_stragglers - slowest);
  return kept(slowest + any_straggles * longer);
}

namespace {

/// "typical": the same GPUs of a cluster differ in speed by 8 % (average over five clusters and
/// several applications, training among them: Sinha et al. 2022, "Not All GPUs Are Created Equal"),
/// which is taken as the span of a box plot's whiskers, 5.4 standard deviations. The slowest of 8
/// is then 2.1 % slower than their mean; 8 V100 that trained ResNet-50 lost 2.2 to 2.6 % against
/// one (NVIDIA/DeepLearningExamples, MXNet).
const std::map<std::string, Variation>& presets() {
  static const std::map<std::string, Variation> all{{"typical", {.spread = 0.08 / 5.4}}};
  return all;
}

constexpr double kSlowest = 1e-3;
constexpr double kFastest = 1e3;

const Bindings<GpuSpeed>& gpu_speed_keys() {
  using G = GpuSpeed;
  static const Bindings<G> keys{
      {&G::node, "node", "from 0 on", kRequired, between(0, 1e9)},
      {&G::gpu, "gpu", "of the node's, from 0 on; default: all of them", nullptr, between(0, 1e9)},
      {&G::speed, "speed", "over that of the others", kRequired, between(kSlowest, kFastest)}};
  return keys;
}

const bool kUses = idle_beside("straggle_factor", "straggle_chance", {0}) &&
                   idle_beside("slow_speed", "slow_chance", {0});

const Bindings<Variation>& variation_keys() {
  using V = Variation;
  static const Bindings<V> keys{
      Bindings<V>::Binding{{.key = "preset",
                            .kind = Kind::kText,
                            .help = "how workers differ usually: a `spread` of 1.5 %, as measured "
                                    "of equal GPUs in five clusters (Sinha et al. 2022, \"Not All "
                                    "GPUs Are Created Equal\"); the other keys override it",
                            .need = Need::kOptional,
                            .words = variation_presets()}},
      {&V::spread, "spread", "standard deviation of speed between workers", 0, between(0, 1)},
      {&V::jitter, "jitter", "standard deviation of a worker's speed between steps", 0,
       between(0, 1)},
      {&V::straggle_chance, "straggle_chance", "of a worker in a step", 0, between(0, 1)},
      {&V::straggle_factor, "straggle_factor", "how much longer a straggler computes", 1,
       between(1, 1e6)},
      {&V::slow_chance, "slow_chance",
       "of a GPU, that it is slow for the whole run; by the seed; a larger chance keeps those of a "
       "smaller one",
       0, between(0, 1)},
      {&V::slow_speed, "slow_speed", "of such a GPU, over that of the others", 1,
       between(kSlowest, 1)},
      {{.key = "gpus",
        .kind = Kind::kList,
        .help = "GPUs with a speed of their own, a list of objects such as `{\"node\": 2, \"gpu\": "
                "3, \"speed\": 0.8}`: node and GPU from 0 on, without `gpu` all of the node; their "
                "compute takes 1 / `speed` times as long, from 0.001 to 1000",
        .need = Need::kDefault,
        .fallback = Json::array()},
       [](const Config& config, V& variation) {
         for (const Config& gpu : config.objects("gpus", gpu_speed_keys().params())) {
           const GpuSpeed read = gpu_speed_keys().read(gpu);
           const auto meets = [&](const GpuSpeed& other) {
             return other.node == read.node && (!other.gpu || !read.gpu || *other.gpu == *read.gpu);
           };
           const auto other = std::ranges::find_if(variation.gpus, meets);
           if (other != variation.gpus.end()) {
             gpu.fail(read.gpu ? "gpu" : "node",
                      fmt::format("found GPUs that entry {} names, too; expected each GPU once",
                                  other - variation.gpus.begin()));
           }
           variation.gpus.push_back(read);
         }
       }},
      {&V::seeds, "seeds",
       "how often the run is repeated, with `seed`, `seed` + 1, ...; several give the mean step "
       "and its percentiles",
       1, between(1, 1e6)}};
  return keys;
}

}  // namespace

const Params& variation_params() {
  return variation_keys().params();
}

std::vector<std::string> variation_presets() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : presets())
    names.push_back(name);
  return names;
}

Variation read_variation(const Config& run) {
  if (run.raw("variation").is_string()) {
    const auto name = run.raw("variation").get<std::string>();
    const auto found = presets().find(name);
    if (found == presets().end()) run.fail("variation", unknown_word(name, variation_presets()));
    return found->second;
  }
  const Config section = run.object("variation", variation_params());
  Variation variation = variation_keys().read(section);
  if (variation.slow_chance > 0 && !section.has("slow_speed"))
    section.fail("slow_speed", "required but missing, as there is a \"slow_chance\"");
  if (variation.straggle_chance > 0 && !section.has("straggle_factor"))
    section.fail("straggle_factor", "required but missing, as there is a \"straggle_chance\"");
  if (!section.has("preset")) return variation;
  const Variation& preset = presets().at(section.get<std::string>("preset"));
  if (!section.has("spread")) variation.spread = preset.spread;
  return variation;
}

}  // namespace steptime
