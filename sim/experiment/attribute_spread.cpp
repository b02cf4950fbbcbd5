#include "sim/experiment/attribute_spread.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace steptime {
namespace {

constexpr double kNormal = 1.96;  ///< 97.5 % of the normal distribution
constexpr std::size_t kLeastWithin = 2;
constexpr unsigned kFabric = 1U << static_cast<unsigned>(Attribute::kFabric);
constexpr unsigned kNodes = 1U << static_cast<unsigned>(Attribute::kNodes);

/// Rows of one kind on one testbed.
struct Cell {
  std::string testbed;
  KindOfStep kind;
  double sum = 0;  ///< sum of the logarithmic errors
  double n = 0;
  double mean() const { return sum / n; }
};

/// Squared differences that tell of an attribute, by the testbed or the pair of testbeds they are
/// of.
using Differences = std::map<std::string, std::vector<double>>;

AttributeSpread spread_of(const Differences& differences, bool is_between) {
  AttributeSpread spread{.is_between_testbeds = is_between};
  double sum = 0;
  for (const auto& [testbed, squares] : differences) {
    double mean = 0;
    for (const double square : squares)
      mean += square / static_cast<double>(squares.size());
    sum += mean / static_cast<double>(differences.size());
    spread.testbeds.push_back(testbed);
  }
  spread.d = kNormal * std::sqrt(sum);
  return spread;
}

}  // namespace

std::array<AttributeSpread, kAttributes> attribute_spreads(std::span<const RecordRow> rows) {
  std::map<std::pair<std::string, KindOfStep>, std::size_t> places;
  std::vector<Cell> cells;
  for (const RecordRow& row : rows) {
    const auto [place, is_new] = places.try_emplace({row.testbed, row.kind}, cells.size());
    if (is_new) cells.push_back({.testbed = row.testbed, .kind = row.kind});
    Cell& cell = cells[place->second];
    cell.sum += row.log_error();
    ++cell.n;
  }
  std::array<Differences, kAttributes> within;
  std::array<Differences, kAttributes> between;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    for (std::size_t j = i + 1; j < cells.size(); ++j) {
      unsigned bits = cells[i].kind.differs_from(cells[j].kind);
      if ((bits & kNodes) != 0) bits &= ~kFabric;  // which one node has another one than several
      if (bits == 0 || (bits & (bits - 1)) != 0) continue;
      const auto a = static_cast<std::size_t>(std::countr_zero(bits));
      const double difference = cells[i].mean() - cells[j].mean();
      const bool is_same = cells[i].testbed == cells[j].testbed;
      const std::string name =
          is_same ? cells[i].testbed : cells[i].testbed + " and " + cells[j].testbed;
      (is_same ? within : between)[a][name].push_back(difference * difference);
    }
  }
  std::array<AttributeSpread, kAttributes> spreads;
  double largest = 0;
  for (std::size_t a = 0; a < kAttributes; ++a) {
    const bool is_between = within[a].size() < kLeastWithin && !between[a].empty();
    spreads[a] = spread_of(is_between ? between[a] : within[a], is_between);
    largest = std::max(largest, spreads[a].d);
  }
  for (AttributeSpread& spread : spreads) {
    if (spread.testbeds.empty()) spread.d = largest;
  }
  return spreads;
}

}  // namespace steptime
