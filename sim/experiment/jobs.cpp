#include "sim/experiment/jobs.h"

#include "sim/config/binding.h"
#include "sim/config/words.h"
#include "sim/core/error.h"
#include "sim/experiment/keys.h"
#include "sim/network/node_numbers.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

/// Each has a world of ranks and is played by itself, too.
constexpr std::size_t kMostJobs = 1000;

bool has_jobs(const Document& document) {
  return document.root.is_object() && document.root.contains("jobs");
}

const Bindings<Job>& job_keys() {
  using J = Job;
  static const Bindings<J> keys{
      {{.key = "name",
        .kind = Kind::kText,
        .help = "for people, of this job alone; default: \"job\" and its number, from 0 on",
        .need = Need::kOptional},
       [](const Config& config, J& job) {
         if (config.has("name")) job.name = config.get<std::string>("name");
       }},
      {{.key = "nodes", .kind = Kind::kList, .help = "numbers of the cluster's nodes, from 0 on"},
       [](const Config& config, J& job) { job.nodes = read_node_numbers(config, "nodes"); }},
      {&J::start, "start", "of its first step", "0 s", kNotNegative},
      Bindings<J>::Binding{{.key = "workload",
                            .kind = Kind::kObject,
                            .help = "in place of the experiment's",
                            .need = Need::kOptional,
                            .table = workload_params}},
      Bindings<J>::Binding{{.key = "strategy",
                            .kind = Kind::kObject,
                            .help = "in place of the experiment's",
                            .need = Need::kOptional,
                            .table = strategy_params}}};
  return keys;
}

/// Keeps what a list of the `run` section says of these nodes, by their numbers in it.
void keep_own(Json& run, const char* section, const char* key,
              const std::vector<std::int64_t>& nodes) {
  if (!run.contains(section) || !run[section].is_object() || !run[section].contains(key)) return;
  Json& list = run[section][key];
  if (!list.is_array()) return;  // which the section's reader says
  Json kept = Json::array();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    for (Json each : list) {
      if (!each.is_object() || each.value("node", Json()) != Json(nodes[n])) continue;
      each["node"] = n;
      kept.push_back(std::move(each));
    }
  }
  list = std::move(kept);
}

/// `names`: those of the jobs before it, and then its own.
void name_job(const Config& config, std::size_t place, std::map<std::string, std::size_t>& names,
              Job& job) {
  if (!config.has("name")) job.name = fmt::format("job {}", place);
  if (job.name.empty()) config.fail("name", "expected a name, got \"\"");
  if (!is_printable(job.name)) {
    config.fail("name", fmt::format("expected text without control characters, got {}",
                                    brief(config.raw("name"))));
  }
  const auto [known, is_first] = names.emplace(job.name, place);
  if (is_first) return;
  config.fail("name", fmt::format("expected another name than that of job {}, got {}",
                                  known->second, brief(Json(job.name))));
}

}  // namespace

const Params& job_params() {
  return job_keys().params();
}

std::vector<Job> stated_jobs(const std::shared_ptr<const Document>& document) {
  if (!has_jobs(*document)) return {};
  const Config config(document, experiment_params());
  if (const std::size_t count = config.raw("jobs").size(); count > kMostJobs)
    config.fail("jobs", fmt::format("expected at most {}, got {}", kMostJobs, count));
  std::vector<Job> jobs;
  std::map<std::string, std::size_t> names;
  std::map<std::int64_t, std::size_t> owners;
  for (const Config& job : config.objects("jobs", job_params())) {
    jobs.push_back(job_keys().read(job));
    Job& read = jobs.back();
    for (const char* section : {"workload", "strategy"}) {
      if (job.has(section)) read.sections.emplace_back(section);
    }
    name_job(job, jobs.size() - 1, names, read);
    if (read.nodes.empty()) job.fail("nodes", "expected at least one, got []");
    for (const std::int64_t node : read.nodes) {
      const auto [owner, is_first] = owners.emplace(node, jobs.size() - 1);
      if (!is_first)
        job.fail("nodes", fmt::format("{} is one of job {} already", node, owner->second));
    }
  }
  if (jobs.empty()) config.fail("jobs", "expected at least one, got []");
  return jobs;
}

std::shared_ptr<const Document> document_of(const Document& document, std::size_t place,
                                            const Job& job) {
  auto own = std::make_shared<Document>(document);
  for (const char* key : {"jobs", "sweep", "claims"})
    own->root.erase(key);
  const Json& stated = document.root["jobs"][place];
  for (const char* section : {"workload", "strategy"}) {
    if (stated.contains(section)) own->root[section] = stated[section];
  }
  if (own->root.contains("cluster") && own->root["cluster"].is_object())
    own->root["cluster"]["nodes"] = job.nodes.size();
  if (!own->root.contains("run") || !own->root["run"].is_object()) return own;
  own->root["run"].erase("slow_links");  // which are the network's
  for (const auto& [section, key] :
       {std::pair("variation", "gpus"), std::pair("failures", "nodes")})
    keep_own(own->root["run"], section, key, job.nodes);
  return own;
}

std::string text_of_job(std::size_t place, const Job& job, const std::string& text) {
  const bool is_own = std::ranges::any_of(
      job.sections, [&](const std::string& section) { return text.starts_with("/" + section); });
  return is_own ? fmt::format("/jobs/{}{}", place, text) : text;
}

void read_of_job(const Document& document, std::size_t place, const std::function<void()>& read) {
  if (!has_jobs(document)) return read();
  try {
    read();
  } catch (const InputError& e) {
    const std::string_view text = e.what();
    const std::string file = document.file + ": ";
    const Json& jobs = document.root["jobs"];
    const bool is_known = jobs.is_array() && place < jobs.size();
    for (const char* section : {"workload", "strategy"}) {
      if (is_known && jobs[place].contains(section) &&
          text.starts_with(fmt::format("{}/{}", file, section)))
        throw InputError(fmt::format("{}/jobs/{}{}", file, place, text.substr(file.size())));
    }
    throw;
  }
}

std::shared_ptr<const Document> of_first_job(const std::shared_ptr<const Document>& document) {
  if (!has_jobs(*document)) return document;
  return document_of(*document, 0, stated_jobs(document).front());
}

}  // namespace steptime
