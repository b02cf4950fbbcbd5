// Collectives work on the hosts' memory: every GPU copies its gradients there, the CPU adds up, and
// the sum is copied back. For a collective that takes T(M) with the host's gamma:
//
//   2 M / copy + T(M)
//
// Ranks of a node copy and add up in one memory, at the same time: each of g gets a g-th of what
// either takes alone, so copy is divided and gamma multiplied by g / memories, where that is more
// than 1.
//
// Of several programs each begins as soon as its own part is copied, so that the messages take
// less, down to 1 / (number of programs).
//
// Scope: a GPU copies, or its host adds up, one message at a time, as one communicating thread
// does; GPUs of a node have a link each to their host; which of memory and its threads it is that
// they share, no row tells. Parameters: copy [B/s], reduction [s/B], memories. Source: pinned
// copies over PCIe 3 x16 of 12.2 to 12.9 GB/s (mpicbg-scicomp/gearshifft pull 82); a CPU thread
// adds two arrays of floats at about the bandwidth of memory, 4 GB/s of sums for three passes over
// 12 GB/s. That ranks share it: with nothing fitted, Horovod over Intel MPI on 4 V100 a node
// (configs/papers/clusters/azure-horovod.json) is 14 % off in the mean, and 47 % without.
#include "netmodels/backends/host.h"

#include "sim/collective/backend.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace steptime {
namespace {

const Params kParams{{.key = "copy",
                      .kind = Kind::kBandwidth,
                      .help = "between a GPU and its host, in each direction",
                      .need = Need::kDefault,
                      .fallback = "12.5 GB/s",
                      .range = kPositive},
                     {.key = "reduction",
                      .kind = Kind::kTimePerByte,
                      .help = "gamma of the host: the time to add one more byte of gradients",
                      .need = Need::kDefault,
                      .fallback = "0.25 ns/B",
                      .range = kNotNegative},
                     {.key = "memories",
                      .kind = Kind::kInteger,
                      .help = "of a host, which its ranks share: sockets whose ranks keep to them",
                      .need = Need::kDefault,
                      .fallback = 1,
                      .range = {.low = 1, .high = 64}}};

/// A program between copies to the host and one back, of which each rank's device does both.
class CopiedProgram final : public Program {
 public:
  CopiedProgram(std::unique_ptr<Program> plain, Duration before, Duration after,
                TimePerByte reduction)
      : plain_(std::move(plain)), before_(before), after_(after), reduction_(reduction) {}
  Rank ranks() const override { return plain_->ranks(); }
  std::int32_t steps(Rank rank) const override { return plain_->steps(rank) + 2; }
  Op op(Rank rank, std::int32_t step) const override {
    if (step == 0) return {.work = before_};
    if (step == plain_->steps(rank) + 1) return {.work = after_};
    Op op = plain_->op(rank, step - 1);
    ++op.send.step;
    ++op.recv.step;
    return op;
  }
  bool buffered() const override { return plain_->buffered(); }
  std::optional<TimePerByte> reduction() const override {
    return plain_->reduction().value_or(reduction_);
  }
  double messages() const override { return plain_->messages(); }

 private:
  std::unique_ptr<Program> plain_;
  Duration before_;
  Duration after_;
  TimePerByte reduction_;
};

class Copied final : public Collective {
 public:
  Copied(std::shared_ptr<const Collective> plain, const HostCopies& copies)
      : plain_(std::move(plain)),
        parts_(std::max<std::int64_t>(std::ssize(plain_->programs({1})), 1)),
        copies_(copies) {}
  Duration time(Bytes m) const override {
    return checked_add(plain_->time(m), checked_add(before(m), after(m)));
  }
  Duration startup() const override {
    return checked_add(plain_->startup(), checked_add(before({}), after({})));
  }
  std::vector<Stage> stages(Bytes m) const override {
    auto stages = plain_->stages(m);
    if (stages.empty()) return stages;
    const auto copies = [](Duration all) {
      return Stage{.where = Pairs::kInNode, .work = all, .copies = true};
    };
    stages.insert(stages.begin(), copies(before(m)));
    stages.push_back(copies(after(m)));
    return stages;
  }
  std::optional<LinearCost> linear() const override {
    auto line = plain_->linear();
    if (!line) return line;
    line->a = checked_add(line->a, checked_add(before({}), after({})));
    line->b.seconds_per_byte +=
        static_cast<double>(copies_.before + 1) * copies_.copy.seconds_per_byte;
    return line;
  }
  std::string outside_domain(Bytes m) const override {
    std::string plain = plain_->outside_domain(m);
    if (!plain.empty() || parts_ == 1) return plain;
    return "what begins before all is copied, which only \"message\" fidelity plays";
  }
  std::string choice(Bytes m) const override { return plain_->choice(m); }
  std::optional<ErrorBound> error_bound() const override {
    const auto plain = plain_->error_bound();
    if (parts_ == 1) return plain;
    const ErrorBound bound = plain.value_or(ErrorBound{});
    return ErrorBound{bound.least, (1 + bound.most) * static_cast<double>(parts_) - 1};
  }
  Operation operation() const override { return plain_->operation(); }
  Programs programs(Bytes m) const override {
    Programs programs = plain_->programs(m);
    const Bytes part{ceil_div(m.count, parts_)};
    for (auto& program : programs)
      program = std::make_unique<CopiedProgram>(std::move(program), before(part), after(part),
                                                copies_.reduction);
    return programs;
  }

 private:
  Duration before(Bytes m) const { return copies_.before * after(m); }
  Duration after(Bytes m) const { return checked_add(copies_.call, copies_.copy * m); }

  std::shared_ptr<const Collective> plain_;
  std::int64_t parts_;  ///< parts that the data is cut into, one for each program
  HostCopies copies_;
};

class Host final : public Backend {
 public:
  /// `copies`: of a rank that has the memory to itself.
  Host(HostCopies copies, std::int64_t memories) : copies_(copies), memories_(memories) {}
  Cluster seen(Cluster cluster) const override {
    cluster.reduction = shared(cluster).reduction;
    return cluster;
  }
  std::shared_ptr<const Collective> all_reduce(std::shared_ptr<const Collective> plain,
                                               const Cluster& cluster) const override {
    return on_host(std::move(plain), shared(cluster));
  }
  std::string outside_domain() const override {
    return "copies to the host and its sums take what the config says, or an estimate";
  }

 private:
  HostCopies shared(const Cluster& cluster) const {
    const double ranks = static_cast<double>(cluster.gpus_per_node);
    const double more = std::max(1.0, ranks / static_cast<double>(memories_));
    HostCopies copies = copies_;
    copies.copy.seconds_per_byte *= more;
    copies.reduction.seconds_per_byte *= more;
    return copies;
  }
  HostCopies copies_;
  std::int64_t memories_;
};

const bool kRegistered = Backends::instance().add(
    "host", "collectives work on the hosts' memory, whose CPUs add up", kParams,
    [](const Config& c) {
      return std::make_unique<Host>(HostCopies{.copy = inverse(c.get<Bandwidth>("copy")),
                                               .reduction = c.get<TimePerByte>("reduction")},
                                    c.get<std::int64_t>("memories"));
    });

}  // namespace

std::shared_ptr<const Collective> on_host(std::shared_ptr<const Collective> plain,
                                          const HostCopies& copies) {
  return std::make_shared<Copied>(std::move(plain), copies);
}

}  // namespace steptime
