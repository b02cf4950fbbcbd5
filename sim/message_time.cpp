#include "sim/message_time.h"

#include "sim/collective_player.h"
#include "sim/error.h"

#include <fmt/format.h>

namespace steptime {

Duration played_time(const Programs& programs, const Routes& routes, TimePerByte reduction,
                     const TransportOptions& options) {
  Transport transport(routes, options);
  CollectivePlayer player(transport, programs, reduction);
  player.start_at(Time{});
  transport.run();
  STEPTIME_CHECK(player.is_over(), "a collective waits for a message that nobody sends");
  return since_start(player.end());
}

namespace {

Duration checked_times(Duration d, std::int64_t count) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(d.count(), count, &product))
    return from_seconds(to_seconds(d) * static_cast<double>(count));  // which throws
  return Duration(product);
}

}  // namespace

std::optional<Duration> symmetric_time(const Programs& programs, const Machine& machine,
                                       TimePerByte reduction, const TransportOptions& options) {
  // Larger messages must not be faster: then the largest one decides how long a step is.
  if (programs.size() != 1 || options.store_and_forward ||
      options.rendezvous_overhead < options.eager_overhead) {
    return std::nullopt;
  }
  const auto rounds = programs.front()->rounds();
  if (!rounds) return std::nullopt;
  Duration sum{};
  for (const Round& round : *rounds) {
    if (round.count == 0) continue;
    const auto link = machine.uniform(round.where);
    if (!link) return std::nullopt;
    const Duration overhead = round.message <= options.eager_limit.count
                                  ? options.eager_overhead
                                  : options.rendezvous_overhead;
    const Duration transfer =
        transfer_time(static_cast<double>(round.message), link->bandwidth.bytes_per_second);
    const Duration step =
        checked_add(checked_add(overhead, link->latency),
                    checked_add(transfer, reduction_time(round.reduced, reduction)));
    sum = checked_add(sum, checked_times(step, round.count));
  }
  return sum;
}

MessageTimes::MessageTimes(const Cluster& cluster, const Collective& collective)
    : cluster_(cluster), collective_(collective), machine_(cluster) {
  if (collective.programs({1}).empty()) {
    throw PlacedError(
        "/run/fidelity: \"message\" needs a collective that is made of messages; this one is known "
        "by its time only");
  }
}

Duration MessageTimes::time(Bytes m) {
  const auto known = known_.find(m.count);
  if (known != known_.end()) return known->second;
  const Programs programs = collective_.programs(m);
  const auto symmetric = symmetric_time(programs, machine_, cluster_.reduction, cluster_.messages);
  const Duration time =
      symmetric ? *symmetric
                : played_time(programs, machine_, cluster_.reduction, cluster_.messages);
  return known_[m.count] = time;
}

void play_buckets(StepPlan& plan, const Cluster& cluster, const Collective& collective) {
  if (plan.buckets.empty()) return;
  MessageTimes times(cluster, collective);
  double seconds = to_seconds(plan.forward + plan.backward);
  for (Bucket& bucket : plan.buckets) {
    bucket.cost = times.time(bucket.bytes);
    seconds += to_seconds(bucket.cost);
  }
  check_step_length(seconds);
}

}  // namespace steptime
