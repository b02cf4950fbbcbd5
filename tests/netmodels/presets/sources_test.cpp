// Does every number of a shipped machine say where it stands?
//
// "sources" maps the JSON pointer of a number, below "cluster", to its source; a pointer stands for
// all that is below it. Links are many and of few kinds: "/node/links" maps the kind of a link to
// the sources of its numbers, key by key.
#include "sim/network/read_cluster.h"
#include "tests/support/presets.h"

#include <cctype>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace steptime {
namespace {

/// A number, or a quantity: text that begins with a digit.
bool is_number(const Json& value) {
  if (!value.is_string()) return value.is_number();
  const auto text = value.get<std::string>();
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
}

/// The pointers in `sources` that are of no use, and the numbers of `cluster` that have none.
class Check {
 public:
  Check(const Json& cluster, const Json& sources) : sources_(sources) {
    for (const auto& [pointer, source] : sources.items())
      unused_.insert(pointer);
    walk(cluster, "");
    if (cluster.contains("/node/links"_json_pointer))
      check_links(cluster.at("/node/links"_json_pointer));
    for (const std::string& pointer : unused_)
      faults.push_back(pointer + ": a source of nothing");
  }
  std::vector<std::string> faults;

 private:
  void walk(const Json& value, const std::string& pointer) {
    if (pointer == "/node/links") return;
    if (value.is_structured()) {
      for (const auto& [key, child] : value.items())
        walk(child, join_pointer(pointer, key));
      return;
    }
    if (!is_number(value)) return;
    for (std::string at = pointer; !at.empty(); at.resize(at.rfind('/'))) {
      if (!sources_.contains(at)) continue;
      unused_.erase(at);
      if (!says_something(sources_[at])) faults.push_back(at + ": an empty source");
      return;
    }
    faults.push_back(pointer + ": no source");
  }

  void check_links(const Json& links) {
    unused_.erase("/node/links");
    const Json& by_kind = sources_.value("/node/links", Json::object());
    std::set<std::string> used;
    for (const Json& link : links) {
      const auto kind = link.value("kind", "");
      for (const auto& [key, value] : link.items()) {
        if (!is_number(value)) continue;
        used.insert(kind + "." + key);
        const Json::json_pointer at(join_pointer(join_pointer("", kind), key));
        if (!by_kind.contains(at) || !says_something(by_kind.at(at)))
          faults.push_back("/node/links " + kind + "." + key + ": no source");
      }
    }
    for (const auto& [kind, keys] : by_kind.items()) {
      for (const auto& [key, source] : keys.items()) {
        if (!used.contains(kind + "." + key))
          faults.push_back("/node/links " + kind + "." + key + ": a source of nothing");
      }
    }
  }

  static bool says_something(const Json& source) {
    return source.is_string() && source.get<std::string>().size() > 4;
  }

  const Json& sources_;
  std::set<std::string> unused_;
};

TEST(PresetSources, EveryNumberHasOne) {
  for (const auto& [name, help] : cluster_presets()) {
    const Json preset = preset_file(name);
    for (const std::string& fault : Check(preset.at("cluster"), preset.at("sources")).faults)
      ADD_FAILURE() << name << ": " << fault;
  }
}

/// What the check finds in a preset with `patch` applied (RFC 7396).
std::vector<std::string> faults_of(const std::string& patch) {
  Json preset = Json::parse(R"({
    "sources": {"/network": "a data sheet", "/node/links": {"pcie": {"bandwidth": "measured"}}},
    "cluster": {"network": {"latency": "1 us", "bandwidth": "1 GB/s"},
                "node": {"links": [{"ends": ["a", "b"], "bandwidth": "1 GB/s", "kind": "pcie"}]}}})");
  preset.merge_patch(Json::parse(patch));
  return Check(preset["cluster"], preset["sources"]).faults;
}

TEST(PresetSources, TheCheckFindsWhatIsMissing) {
  using Faults = std::vector<std::string>;
  EXPECT_EQ(faults_of("{}"), Faults{});
  EXPECT_EQ(faults_of(R"({"cluster": {"nodes": 3}})"), Faults{"/nodes: no source"});
  EXPECT_EQ(faults_of(R"({"sources": {"/network": null}})"),
            (Faults{"/network/latency: no source", "/network/bandwidth: no source"}));
  EXPECT_EQ(faults_of(R"({"sources": {"/network": ""}})"),
            (Faults{"/network: an empty source", "/network: an empty source"}));
  EXPECT_EQ(faults_of(R"({"sources": {"/gpus": "a data sheet"}})"),
            Faults{"/gpus: a source of nothing"});
  EXPECT_EQ(faults_of(R"({"sources": {"/node/links": {"pcie": {"bandwidth": null}}}})"),
            Faults{"/node/links pcie.bandwidth: no source"});
  EXPECT_EQ(faults_of(R"({"sources": {"/node/links": {"pcie": {"count": "measured"}}}})"),
            Faults{"/node/links pcie.count: a source of nothing"});
}

}  // namespace
}  // namespace steptime
