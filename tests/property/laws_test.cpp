// What holds of any experiment, whatever its strategy: of every group that is drawn at random
// (tests/support/drawn_experiments.h), at both fidelities.
#include "sim/events/timeline.h"
#include "tests/support/drawn_experiments.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace steptime {
namespace {

constexpr int kDraws = 40;  // of each group, at each fidelity

/// "" for what keeps the law; else what breaks it.
using Law = std::function<std::string(const Json& config, const Experiment& e)>;

void expect_of_all(const Law& law, const std::function<void(Json&)>& change = {},
                   const std::set<std::string_view>& only = {}) {
  constexpr int kMostShown = 3;
  for (const DrawnGroup& group : kDrawnGroups) {
    if (!only.empty() && only.count(group.name) == 0) continue;
    for (const char* fidelity : {"analytic", "message"}) {
      int broken = 0;
      for (std::uint32_t i = 0; i < kDraws; ++i) {
        ExperimentDraw draw(i, seed_of_the_run());
        const Json config = any_of_group(draw, group.name, fidelity, change);
        const std::string what = law(config, drawn_experiment(config));
        if (what.empty() || ++broken > kMostShown) continue;
        ADD_FAILURE() << group.name << ", seed " << seed_of_the_run() << ", draw " << i << ": "
                      << what << "\n  " << config.dump();
      }
      EXPECT_EQ(broken, 0) << "of " << kDraws << ", " << group.name << ", " << fidelity;
    }
  }
  fmt::print("seed {}\n", seed_of_the_run());
}

bool is_about(double a, double b, double share = 1e-9) {
  return std::abs(a - b) <= share * std::max(std::abs(a), std::abs(b));
}

std::int64_t gradient_bytes(const Json& config) {
  std::int64_t bytes = 0;
  for (const Json& layer : config["workload"]["layers"]) {
    for (std::size_t t = 2; t < layer.size(); ++t)
      bytes += 4 * layer[t].get<std::int64_t>();
  }
  return bytes;
}

TEST(Laws, CausesAddUpToTheStepWithoutAHole) {
  expect_of_all([](const Json&, const Experiment& e) {
    std::vector<SentBucket> buckets;
    const Result r = simulate(e, &buckets);
    double sum = 0;
    for (const Cause& cause : r.attribution) {
      if (cause.cause == "not explained" || cause.seconds <= 0)
        return fmt::format("{} takes {} s", cause.cause, cause.seconds);
      sum += cause.seconds;
    }
    // Times of an engine are whole picoseconds, means of several steps or seeds.
    const bool adds_up = std::abs(sum - r.step_time_s) <= 1e-9 * r.step_time_s + 5e-12;
    return adds_up ? "" : fmt::format("{} s of {} s", sum, r.step_time_s);
  });
}

/// The same experiment gives the same, looked at or not.
TEST(Laws, WhoWatchesChangesNothing) {
  expect_of_all([](const Json& config, const Experiment& e) {
    const Result plain = simulate(e);
    std::vector<SentBucket> buckets;
    Timeline timeline;
    const Result watched = simulate(drawn_experiment(config), timeline, &buckets);
    const bool is_same =
        plain.fingerprint == watched.fingerprint && plain.step_time_s == watched.step_time_s;
    return is_same ? "" : fmt::format("{} s, watched {} s", plain.step_time_s, watched.step_time_s);
  });
}

/// Of workers that differ only over whole periods of exchanges: in between each has steps of its
/// own, and a step is over with the last of them.
TEST(Laws, NoStepIsShorterThanItsCompute) {
  expect_of_all([](const Json& config, const Experiment& e) {
    const Result r = simulate(e);
    double alone = 0;
    for (const Json& layer : config["workload"]["layers"])
      alone += 1e-6 * (layer[0].get<double>() + layer[1].get<double>());
    const Json& strategy = config["strategy"];
    const bool differ =
        config["run"].contains("variation") ||
        (strategy.contains("embedding") && strategy["embedding"].contains("jitter"));
    if (!differ && !is_about(r.compute_time_s, alone))
      return fmt::format("computes for {} s of {} s", r.compute_time_s, alone);
    const std::int64_t steps = e.run->steps.value_or(e.update->period());
    if (differ && steps % e.update->period() != 0) return std::string();
    if (r.embedded && differ) return std::string();  // whose compute is that of no rank
    const double least = r.compute_time_s * (1 - 1e-9);
    if (r.cold_step_time_s && !differ && *r.cold_step_time_s < least)
      return fmt::format("the first takes {} s for {} s", *r.cold_step_time_s, r.compute_time_s);
    return r.step_time_s >= least
               ? std::string()
               : fmt::format("takes {} s for {} s", r.step_time_s, r.compute_time_s);
  });
}

TEST(Laws, NoLinkIsAtWorkForLongerThanTheStep) {
  expect_of_all([](const Json&, const Experiment& e) {
    std::vector<SentBucket> buckets;
    const Result r = simulate(e, &buckets);
    for (const LinkUse& link : r.links) {
      if (link.busy < 0 || link.busy > 1 + 1e-9 || link.bytes < 0)
        return fmt::format("{} to {}: at work for {}", link.from, link.to, link.busy);
    }
    return std::string();
  });
}

/// Whether all-reduces meet nothing but each other on the links, one after another: links are then
/// told of one exchange. Elsewhere they are counted while all steps of a run are played.
bool links_are_of_one_exchange(const Experiment& e) {
  return e.aggregation->servers.count == 0 && !e.aggregation->merge && e.transport->streams == 1;
}

/// A link's bytes take `busy` of the time: that of a step where links are told of one exchange,
/// bytes = bandwidth * busy * step, all of whose sums are of whole bytes, but for the rounding of a
/// mean over steps, half a byte. Where a run is counted, with the steps before those that are
/// reported, bytes / (bandwidth * busy) is the mean step of that run: the same for each of its
/// links, but for half a byte of each, and, where workers do not differ, no shorter than what they
/// compute.
TEST(Laws, ALinkCarriesWhatItsBandwidthCarriesWhileItIsAtWork) {
  expect_of_all([](const Json& config, const Experiment& e) {
    std::vector<SentBucket> buckets;
    const Result r = simulate(e, &buckets);
    const double half = links_are_of_one_exchange(e) && !e.update->sends_parameters() ? 0 : 0.5;
    double least = 0;  // the mean step, s, between what the links' roundings leave open
    double most = std::numeric_limits<double>::infinity();
    for (const LinkUse& link : r.links) {
      const double rate = link.bandwidth.bytes_per_second * link.busy;
      const auto bytes = static_cast<double>(link.bytes);
      least = std::max(least, (bytes * (1 - 1e-12) - half) / rate);
      most = std::min(most, (bytes * (1 + 1e-12) + half) / rate);
    }
    if (r.links.empty()) return std::string();
    if (least > most) return fmt::format("steps of {} s or more and {} s or less", least, most);
    const double step = r.step_time_s;
    if (links_are_of_one_exchange(e)) {
      const bool is_it = least <= step * (1 + 1e-12) && step <= most * (1 + 1e-12);
      return is_it ? "" : fmt::format("{} to {} s of {} s", least, most, step);
    }
    const Json& strategy = config["strategy"];
    const bool differ =
        config["run"].contains("variation") ||
        (strategy.contains("embedding") && strategy["embedding"].contains("jitter"));
    return differ || most >= r.compute_time_s * (1 - 1e-9)
               ? ""
               : fmt::format("steps of {} s compute for {} s", most, r.compute_time_s);
  });
}

/// Every update is an exchange, so that a step is one.
void exchange_always(Json& config) {
  config["strategy"]["update"] = {{"type", "sgd"}};
}

/// All-reduces of M bytes between n nodes need (n - 1) M bytes for the sum, which each node but one
/// has to send its part of, and as many to bring it everywhere; the busiest of the n nodes sends
/// at least an n-th. A ring of p workers sends 2 (p - 1) segments of M / p, rounded down or up.
TEST(Laws, AnAllReduceSendsWhatItHasTo) {
  expect_of_all(
      [](const Json& config, const Experiment& e) {
        std::vector<SentBucket> buckets;
        const Result r = simulate(e, &buckets);
        const auto network = std::ranges::find_if(r.links, [](const LinkUse& link) {
          return link.kind.empty() && link.from == "network";
        });
        if (e.run->fidelity != Fidelity::kMessage || e.cluster->nodes == 1) return std::string();
        if (network == r.links.end()) return std::string("nothing between the nodes");
        const auto m = static_cast<double>(gradient_bytes(config));
        const auto n = static_cast<double>(e.cluster->nodes);
        const auto p = static_cast<double>(e.cluster->workers());
        const auto sent = static_cast<double>(network->bytes);
        const auto least = 2 * (n - 1) / n * m;
        if (sent < least * (1 - 1e-12) - 0.5) return fmt::format("{} B of {} B", sent, least);
        if (config["strategy"]["aggregation"]["collective"]["type"] != "ring") return std::string();
        const double ring = 2 * (p - 1) / p * m;
        const double rounding = 2 * (p - 1) * static_cast<double>(buckets.size()) + 0.5;
        return std::abs(sent - ring) <= rounding ? ""
                                                 : fmt::format("a ring {} B of {} B", sent, ring);
      },
      exchange_always, {"all-reduce", "embedding"});
}

/// C clients push M bytes to servers on nodes of their own and pull as many, in every step that all
/// have played: of the n nodes with workers the busiest sends at least C / n of that. Of S servers
/// the fullest gets, and sends, at least an S-th of what all clients have.
TEST(Laws, ServersGetEveryGradient) {
  expect_of_all(
      [](const Json& config, const Experiment& e) {
        std::vector<SentBucket> buckets;
        const Result r = simulate(e, &buckets);
        if (e.run->fidelity != Fidelity::kMessage || e.aggregation->servers.count == 0)
          return std::string();
        const auto network = std::ranges::find_if(r.links, [](const LinkUse& link) {
          return link.kind.empty() && link.from == "network";
        });
        if (network == r.links.end()) return std::string("nothing between the nodes");
        const double all = static_cast<double>(e.aggregation->clients) *
                           static_cast<double>(gradient_bytes(config));
        const double ports =
            static_cast<double>(std::min(e.cluster->nodes, e.aggregation->servers.count));
        const auto sent = static_cast<double>(network->bytes);
        return sent >= all / ports * (1 - 1e-12) - 0.5
                   ? std::string()
                   : fmt::format("{} B of {} B", sent, all / ports);
      },
      [](Json& config) {
        exchange_always(config);
        config["strategy"]["aggregation"].erase("placement");
      },
      {"parameter-server", "hybrid"});
}

/// Each gradient is in one bucket, which is sent when it is ready, and back after that. The GPUs of
/// a node go on as their own weights come: another may send a gradient before GPU 0 has its own.
TEST(Laws, EveryGradientIsSentOnce) {
  expect_of_all([](const Json& config, const Experiment& e) {
    std::vector<SentBucket> buckets;
    (void)simulate(e, &buckets);
    if (e.cluster->workers() == 1 && buckets.empty()) return std::string();
    std::int64_t bytes = 0;
    std::set<std::string> tensors;
    for (const SentBucket& bucket : buckets) {
      bytes += bucket.bytes.count;
      tensors.insert(bucket.tensors.begin(), bucket.tensors.end());
      const bool is_early = bucket.ready_s > bucket.start_s && !e.aggregation->merge;
      if (is_early || bucket.start_s > bucket.end_s || bucket.ready_s > bucket.end_s)
        return fmt::format("ready at {}, sent at {}, back at {}", bucket.ready_s, bucket.start_s,
                           bucket.end_s);
    }
    return bytes == gradient_bytes(config)
               ? std::string()
               : fmt::format("{} B of {}", bytes, gradient_bytes(config));
  });
}

/// What all clients push of a bucket in a step, and when the last of it is back at each.
struct Meeting {
  Time last_push_in{};
  std::map<std::uint64_t, Time> back;
};

/// Of clients that wait for each other. A bucket that several servers hold is back when the last of
/// its parts is, each of which waits for everybody's.
TEST(Laws, NothingIsBackBeforeTheLastPushIsIn) {
  expect_of_all(
      [](const Json&, const Experiment& e) {
        Timeline timeline;
        (void)simulate(e, timeline);
        std::map<std::pair<std::string, std::uint64_t>, Meeting> meetings;
        for (const Timeline::Span& span : timeline.spans()) {
          // Spans that overlap on a lane have further ones, which are numbered.
          const std::string lane = timeline.tracks()[span.track].name.substr(0, 4);
          if (lane != "push" && lane != "pull") continue;
          // flow_of(): one more than the number of the client's bucket, below the client. What
          // several servers hold of it has a bar each.
          const std::uint64_t client = (span.details.flow - 1) >> 32;
          Meeting& meeting = meetings[{span.name, (span.details.flow - 1) & 0xffff'ffff}];
          if (lane == "push")
            meeting.last_push_in = std::max(meeting.last_push_in, span.end);
          else
            meeting.back[client] = std::max(meeting.back[client], span.end);
        }
        for (const auto& [key, meeting] : meetings) {
          for (const auto& [client, back] : meeting.back) {
            if (back < meeting.last_push_in)
              return fmt::format("{}: back at {} ps, in at {} ps", key.first,
                                 since_start(back).count(),
                                 since_start(meeting.last_push_in).count());
          }
        }
        const bool has_servers = e.aggregation->servers.count > 0;
        return meetings.empty() && has_servers ? std::string("no bar of a push") : std::string();
      },
      [](Json& config) {
        config["strategy"]["update"] = {{"type", "sgd"}};
        Json& aggregation = config["strategy"]["aggregation"];
        if (aggregation.contains("requests") && aggregation["requests"] == "next-step")
          aggregation["requests"] = "pushpull";  // else a pull's bar is the next step's
        aggregation.erase("pull_order");
        if (config["strategy"]["schedule"]["type"] == "tensor-fusion")
          config["strategy"]["schedule"] = {
              {"type", "wfbp"}};  // whose buckets are any client's own
      },
      {"parameter-server", "hybrid", "kvstore-servers"});
}

double in_us(const Json& time) {
  return std::stod(time.get<std::string>());
}

/// Where all-reduces go one after another in an order of their own, every time is a sum or the
/// later of two. Schedules that look at the network when they make their buckets are left out, and
/// so are several under way at once, of which one may delay another that is waited for.
TEST(Laws, SlowerLinksNeverMakeAStepShorter) {
  const auto in_order = [](Json& config) {
    Json& strategy = config["strategy"];
    strategy["transport"] = {{"type", "mpi"}};
    const std::string type = strategy["schedule"]["type"].get<std::string>();
    if (type == "mg-wfbp" || type == "tensor-fusion" || type == "priority")
      strategy["schedule"] = {{"type", "wfbp"}};
    if (!strategy.contains("embedding")) return;
    strategy["embedding"]["type"] = "funnel";
    for (const char* several : {"threads", "outstanding", "jitter"})
      strategy["embedding"].erase(several);
  };
  expect_of_all(
      [](const Json& config, const Experiment& e) {
        const double before = simulate(e).step_time_s;
        Json slower = config;
        for (const char* level : {"network", "intra_node"}) {
          Json& link = slower["cluster"][level];
          link["latency"] = fmt::format("{} us", 3 * in_us(link["latency"]));
          link["bandwidth"] = "400 MB/s";
        }
        const double after = simulate(drawn_experiment(slower)).step_time_s;
        // A part of a cut message may be a byte longer than another.
        return after >= before * (1 - 1e-5) ? "" : fmt::format("{} s, slower {} s", before, after);
      },
      in_order, {"all-reduce", "embedding"});
}

/// Collectives and copies of one experiment alone. A faster network lets messages meet that did not
/// before, and fair shares do not prefer those that somebody waits for: collectives on several
/// streams were up to 0.3 % slower in 3,000 steps. The bound is five times that. Double binary
/// trees are left out: one of them by itself may be 12 % slower, as its two trees then meet on a
/// link. So are schedules and coordinators, which may choose otherwise, and servers, whose threads
/// take what comes first.
TEST(Laws, MoreBandwidthMakesNoStepOnItsOwnMuchLonger) {
  const auto fixed = [](Json& config) {
    Json& strategy = config["strategy"];
    if (strategy.contains("transport")) strategy["transport"].erase("coordinator");
    const std::string type = strategy["schedule"]["type"].get<std::string>();
    if (type == "mg-wfbp" || type == "tensor-fusion" || type == "priority")
      strategy["schedule"] = {{"type", "wfbp"}};
    Json& aggregation = strategy["aggregation"];
    if (aggregation.value("collective", Json())["type"] == "double-binary-tree")
      aggregation["collective"]["type"] = "binary-tree";
    if (config["cluster"].contains("network"))
      config["cluster"]["network"]["bandwidth"] = "600 MB/s";
  };
  expect_of_all(
      [](const Json& config, const Experiment& e) {
        double before = simulate(e).step_time_s;
        if (!config["cluster"].contains("network")) return std::string();
        for (const char* bandwidth : {"900 MB/s", "1.7 GB/s", "8 GB/s"}) {
          Json faster = config;
          faster["cluster"]["network"]["bandwidth"] = bandwidth;
          try {
            const double after = simulate(drawn_experiment(faster)).step_time_s;
            if (after > 1.015 * before)
              return fmt::format("{} s, with {} {} s", before, bandwidth, after);
            before = after;
          } catch (const ModelFailure&) {
            return std::string();  // ranks that wait for each other for ever may do so at any rate
          }
        }
        return std::string();
      },
      fixed, {"all-reduce", "embedding"});
}

}  // namespace
}  // namespace steptime
