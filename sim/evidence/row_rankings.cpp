#include "sim/evidence/row_rankings.h"

#include "sim/core/text_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace steptime {
namespace {

struct Way {
  double published = 0;
  double simulated = 0;
};

double tau_of(const std::vector<Way>& ways) {
  int agree = 0;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double both =
          (ways[i].published - ways[j].published) * (ways[i].simulated - ways[j].simulated);
      agree += (both > 0 ? 1 : 0) - (both < 0 ? 1 : 0);
    }
  }
  const auto n = static_cast<double>(ways.size());
  return agree / (n * (n - 1) / 2);
}

}  // namespace

std::vector<RowRanking> rankings_of(const RowMapping& mapping, const std::vector<ClaimRow>& rows) {
  std::vector<RowRanking> rankings;
  for (const Json& stated : mapping.rankings()) {
    const auto begin = stated.at("rows").get<std::string>();
    std::vector<Way> ways;
    for (const ClaimRow& row : rows) {
      if (row.id.starts_with(begin))
        ways.push_back({row.published.get<double>(), row.simulated.get<double>()});
    }
    if (ways.size() < 2) continue;
    const auto first_by = [&](double Way::*step) {
      return *std::min_element(ways.begin(), ways.end(),
                               [step](const Way& a, const Way& b) { return a.*step < b.*step; });
    };
    rankings.push_back(
        {.what = stated.at("what"),
         .rows = ways.size(),
         .chosen = first_by(&Way::simulated).published / first_by(&Way::published).published,
         .tau = tau_of(ways),
         .most_chosen = stated.at("most_chosen"),
         .least_tau = stated.at("least_tau")});
  }
  return rankings;
}

std::string rankings_text(const std::vector<RowRanking>& rankings) {
  if (rankings.empty()) return "";
  TextTable table(
      {"ranked", "rows", "chosen over best", "at most", "Kendall's tau", "at least", ""});
  for (const RowRanking& of : rankings) {
    table.add({of.what, fmt::format("{}", of.rows), fmt::format("{:.3f}", of.chosen),
               fmt::format("{:.2f}", of.most_chosen), fmt::format("{:.2f}", of.tau),
               fmt::format("{:.2f}", of.least_tau), of.ok() ? "ok" : "MISSED"});
  }
  return "\n" + table.text();
}

}  // namespace steptime
