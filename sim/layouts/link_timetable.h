// When exchanges of a layout keep the links that they share busy, as long as none meets another one
// there: then each takes what it takes by itself.
//
// Until the first instant at which two would be on one link, all has happened as this says, since
// nothing was different up to then; so where no two ever are, the whole of it has.
#pragma once
#include "sim/core/units.h"
#include "sim/network/network.h"

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace steptime {

/// Of so many seconds, how long the busiest link works, by the ps of each.
double busiest_of(std::span<const double> worked, double seconds);

class LinkTimetable {
 public:
  /// What goes one after another over the same links.
  class Line {
   public:
    /// The links are busy from `since` on for `work`, none of it before what was said last.
    void take(Time since, Duration work) {
      if (work == Duration{}) return;
      taken_.push_back({since, since + work});
      worked_ += static_cast<double>(work.count());
    }
    void reserve(std::size_t times) { taken_.reserve(times); }

   private:
    friend class LinkTimetable;
    struct Taken {
      Time since;
      Time until;
    };
    std::vector<ChannelId> channels_;
    std::vector<Taken> taken_;
    double worked_ = 0;  ///< ps
  };

  explicit LinkTimetable(std::int64_t channels) : channels_(static_cast<std::size_t>(channels)) {}

  /// A new line, over the links of the loads. All are added before one is asked for.
  Line& add(const Network::Loads& loads);
  /// Whether two lines are ever on one link at once. May be asked again when more was taken: it
  /// goes on where it was.
  bool meet();
  /// Of so many seconds, how long the busiest link works.
  double busiest(double seconds) const;

 private:
  /// Two lines with a link in common, and the first of each that may meet what is not seen yet.
  struct Neighbours {
    const Line& a;
    const Line& b;
    std::size_t at_a = 0;
    std::size_t at_b = 0;

    bool meet();
  };
  void find_neighbours();

  std::deque<Line> lines_;
  std::vector<std::vector<std::size_t>> channels_;  ///< the lines of each
  std::vector<Neighbours> neighbours_;              ///< once somebody has asked
};

}  // namespace steptime
