#include "sim/servers/flights.h"

#include <utility>

namespace steptime {

void Flights::start(std::vector<Stage> stages, Callback done) {
  std::size_t flight = flights_.size();
  if (free_.empty()) {
    flights_.emplace_back();
  } else {
    flight = free_.back();
    free_.pop_back();
  }
  flights_[flight] = {std::move(stages), 0, done};
  go_on(flight);
}

void Flights::go_on(std::size_t flight) {
  Flight& f = flights_[flight];
  if (f.next == f.stages.size()) {
    const Callback done = f.done;
    free_.push_back(flight);
    return done();
  }
  const Stage& stage = f.stages[f.next++];
  if (!takes_ports(stage)) {
    SharedChannel& links = stage.where == Pairs::kInNode ? in_node_ : between_nodes_;
    return links.start(stage.startup, stage.work,
                       {[](void* self, std::uint64_t which) {
                          static_cast<Flights*>(self)->go_on(static_cast<std::size_t>(which));
                        },
                        this, flight});
  }
  const When started = engine_.until(engine_.present(), stage.startup, reasons_.startup(stage));
  engine_.at(started, Phase::kComplete, [this, flight] {
    const Flight& flying = flights_[flight];
    const Stage& now = flying.stages[flying.next - 1];
    const Way way = now.where == Pairs::kInNode ? Way::kHost : Way::kNetwork;
    engine_.at(ports_.take(way, workers_, now.work, engine_.present(), reasons_.work(now)),
               Phase::kComplete, [this, flight] { go_on(flight); });
  });
}

}  // namespace steptime
