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

bool LinkTimetable::Neighbours::meet() {
  const Line::Taken* of_a = a.taken_.data() + at_a;
  const Line::Taken* of_b = b.taken_.data() + at_b;
  const Line::Taken* const end_a = a.taken_.data() + a.taken_.size();
  const Line::Taken* const end_b = b.taken_.data() + b.taken_.size();
  while (of_a != end_a && of_b != end_b) {
    if (of_a->until <= of_b->since)
      ++of_a;
    else if (of_b->until <= of_a->since)
      ++of_b;
    else
      return true;
  }
  at_a = static_cast<std::size_t>(of_a - a.taken_.data());
  at_b = static_cast<std::size_t>(of_b - b.taken_.data());
  return false;
}

void LinkTimetable::find_neighbours() {
  std::set<std::pair<std::size_t, std::size_t>> known;
  for (const std::vector<std::size_t>& lines : channels_) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::size_t j = i + 1; j < lines.size(); ++j) {
        if (!known.emplace(lines[i], lines[j]).second) continue;
        neighbours_.push_back({lines_[lines[i]], lines_[lines[j]]});
      }
    }
  }
}

bool LinkTimetable::meet() {
  if (neighbours_.empty()) find_neighbours();
  return std::any_of(neighbours_.begin(), neighbours_.end(),
                     [](Neighbours& two) { return two.meet(); });
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
