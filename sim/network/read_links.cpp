#include "sim/network/read_links.h"

#include "sim/config/binding.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

const Bindings<StatedLink>& link_keys() {
  using L = StatedLink;
  static const Bindings<L> keys{
      Bindings<L>::Binding{
          {.key = "ends", .kind = Kind::kList, .help = "the names of two vertices"}},
      {&L::latency, "latency", "per message", "0 s", kNotNegative},
      {&L::bandwidth, "bandwidth", "of one of the parallel links, in one direction", kRequired,
       kPositive},
      {&L::count, "count", "parallel links, which add up", 1, between(1, 1024)},
      {&L::kind, "kind", "nvlink, pcie, qpi, ...: for people", ""}};
  return keys;
}

}  // namespace

Param links_param() {
  return {.key = "links",
          .kind = Kind::kList,
          .help =
              "a list of objects such as `{\"ends\": [\"gpu0\", \"plx0\"], \"latency\": \"1 us\", "
              "\"bandwidth\": \"12 GB/s\", \"count\": 1, \"kind\": \"pcie\"}`: the bandwidth is "
              "that of each direction, and `count` parallel links add up"};
}

Param routes_param() {
  return {.key = "routes",
          .kind = Kind::kText,
          .help = "least latency, or greatest bandwidth",
          .need = Need::kDefault,
          .fallback = "shortest",
          .words = {"shortest", "widest"}};
}

std::vector<StatedLink> read_links(const Config& section,
                                   const std::map<std::string, std::int32_t>& by_name) {
  std::vector<StatedLink> links;
  std::set<std::pair<std::int32_t, std::int32_t>> joined;
  for (const Config& link : section.objects("links", link_keys().params())) {
    const Json& ends = link.raw("ends");
    if (!ends.is_array() || ends.size() != 2 || !ends[0].is_string() || !ends[1].is_string())
      link.fail("ends", "expected the names of two vertices");
    const auto vertex = [&](std::size_t i) {
      const auto found = by_name.find(ends[i].get<std::string>());
      if (found == by_name.end())
        link.fail("ends", fmt::format("no vertex is named {}", brief(ends[i])));
      return found->second;
    };
    StatedLink info = link_keys().read(link);
    info.first = vertex(0);
    info.second = vertex(1);
    if (info.first == info.second) link.fail("ends", "a link needs two different ends");
    if (!joined.insert(std::minmax({info.first, info.second})).second) {
      link.fail("ends", fmt::format("{} and {} are joined already; expected the number of parallel "
                                    "links under \"count\"",
                                    brief(ends[0]), brief(ends[1])));
    }
    info.bandwidth.bytes_per_second *= static_cast<double>(info.count);
    links.push_back(std::move(info));
  }
  return links;
}

}  // namespace steptime
