#include "sim/command/tree_report.h"

#include "sim/collective/link_load.h"
#include "sim/collective/reduce_tree.h"
#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/network/link_matrix.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

std::vector<Gpu> read_gpus(const std::string& text, Gpu most) {
  std::vector<Gpu> gpus;
  if (text.empty()) {
    gpus.resize(static_cast<std::size_t>(most));
    std::iota(gpus.begin(), gpus.end(), 0);
  }
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    Gpu gpu = -1;
    const auto [next, error] = std::from_chars(at, end, gpu);
    if (error != std::errc{} || gpu < 0 || gpu >= most || (next < end && *next != ',') ||
        next + 1 == end || std::find(gpus.begin(), gpus.end(), gpu) != gpus.end()) {
      throw InputError(fmt::format(
          "--gpus: expected different numbers from 0 to {} with commas between them, got {}",
          most - 1, brief(text)));
    }
    gpus.push_back(gpu);
    at = next + 1;
  }
  if (gpus.size() < 2 || std::ssize(gpus) > TreePlanner::kMostGpus) {
    throw InputError(fmt::format("report: --trees need 2 to {} GPUs of a node, got {}",
                                 TreePlanner::kMostGpus, gpus.size()));
  }
  return gpus;
}

std::unique_ptr<TreePlanner> make_planner(const TreeQuestion& question) {
  static const Params params{{.key = "planner", .kind = Kind::kObject}};
  Json planner{{"type", question.planner}};
  if (question.penalty) planner["penalty"] = *question.penalty;
  const Json root{{"planner", planner}};
  return TreePlanners::instance().make(
      Config(std::make_shared<Document>(Document{"report", root}), params), "planner");
}

Json as_json(const std::vector<ReduceTree>& trees, const LinkMatrix& weights) {
  Json all = Json::array();
  for (const ReduceTree& tree : trees) {
    all.push_back({{"root", tree.root()},
                   {"weight", tree.weight(weights)},
                   {"topology", tree.array()},
                   {"scan", tree.level_starts()}});
  }
  return all;
}

std::string as_table(const std::vector<ReduceTree>& trees, const LinkMatrix& weights,
                     const std::vector<Gpu>& gpus) {
  std::string text =
      "root  weight  copies of a reduction, level by level; a broadcast is the mirror\n";
  LinkLoad load(weights);
  const auto name = [&gpus](Gpu gpu) { return gpus[static_cast<std::size_t>(gpu)]; };
  for (const ReduceTree& tree : trees) {
    load.add(tree, 1);
    std::vector<std::string> levels;
    for (const auto& level : tree.copies()) {
      std::vector<std::string> copies;
      copies.reserve(level.size());
      for (const GpuCopy& copy : level)
        copies.push_back(fmt::format("{}>{}", name(copy.from), name(copy.to)));
      levels.push_back(fmt::format("{}", fmt::join(copies, " ")));
    }
    text += fmt::format("{:<6}{:<8.4g}{}\n", name(tree.root()), tree.weight(weights),
                        fmt::join(levels, " | "));
  }
  const LinkLoad::Busiest busiest = load.busiest();
  text += fmt::format("\nall at once: {:.4g} trees per NVLink in the busiest direction\n",
                      busiest.nvlink);
  if (busiest.other > 0) text += "copies between some GPUs go over PCIe\n";
  return text;
}

}  // namespace

std::string tree_report(const Cluster& cluster, const TreeQuestion& question,
                        const std::string& format) {
  if (format != "table" && format != "json") {
    throw InputError(
        fmt::format("--format: unknown \"{}\"; known with --trees: table, json", format));
  }
  check_word("--detection", question.detection, detection_words());
  const std::vector<Gpu> gpus = read_gpus(question.gpus, static_cast<Gpu>(cluster.gpus_per_node));
  const LinkMatrix weights =
      link_weights(detected(link_codes(cluster).of(gpus), detection_named(question.detection)));
  const std::vector<ReduceTree> trees = make_planner(question)->plan(weights);
  if (format == "table") return as_table(trees, weights, gpus);
  return Json{{"gpus", gpus}, {"trees", as_json(trees, weights)}}.dump(2) + "\n";
}

}  // namespace steptime
