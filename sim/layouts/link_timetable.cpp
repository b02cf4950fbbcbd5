#include "sim/layouts/link_timetable.h"

#include <algorithm>
#include <set>
#include <utility>

namespace steptime {

LinkTimetable::Line& LinkTimetable::add(const Network::Loads& loads) {
  Line& line = lines_.emplace_back();
  for (const Network::Load& load : loads) {
    line.channels_.push_back(load.channel);
    channels_[load.channel].push_back(lines_.size() - 1);
  }
  return line;
}

bool LinkTimetable::Line::meet(const Line& a, const Line& b) {
  auto of_a = a.taken_.begin();
  auto of_b = b.taken_.begin();
  while (of_a != a.taken_.end() && of_b != b.taken_.end()) {
    if (of_a->until <= of_b->since)
      ++of_a;
    else if (of_b->until <= of_a->since)
      ++of_b;
    else
      return true;
  }
  return false;
}

bool LinkTimetable::meet() const {
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const std::vector<std::size_t>& lines : channels_) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::size_t j = i + 1; j < lines.size(); ++j) {
        if (!seen.emplace(lines[i], lines[j]).second) continue;
        if (Line::meet(lines_[lines[i]], lines_[lines[j]])) return true;
      }
    }
  }
  return false;
}

double LinkTimetable::busiest(double seconds) const {
  std::vector<double> worked;
  for (const std::vector<std::size_t>& lines : channels_) {
    worked.push_back(0);
    for (const std::size_t line : lines)
      worked.back() += lines_[line].worked_;
  }
  return busiest_of(worked, seconds);
}

double busiest_of(std::span<const double> worked, double seconds) {
  return worked.empty() ? 0 : *std::max_element(worked.begin(), worked.end()) * 1e-12 / seconds;
}

}  // namespace steptime
