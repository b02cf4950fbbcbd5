// Parameter-server push and pull as messages: N workers, S servers, key ranges of M / S bytes.
//
// Without other traffic every server port carries N M / S bytes in and then out, so that the time
// is
//   2 (alpha + max(N ceil(M / S), M) beta)   (incast: the server's port, or the worker's, is full)
// (with K messages one after the other: K alpha instead of alpha), plus N ceil(M / S) gamma for
// adding up, which overlaps the transfers only in part.
#include "netmodels/programs.h"
#include "sim/collective/collective_program.h"

#include <memory>

namespace steptime {
namespace {

class PushPull final : public Program {
 public:
  PushPull(Rank workers, Rank servers, Slice data, std::int32_t messages)
      : workers_(workers), servers_(servers), messages_(messages), cut_(data, messages) {}
  Rank ranks() const override { return workers_ + servers_; }
  std::int32_t steps(Rank) const override { return 2 * messages_; }

  Op op(Rank rank, std::int32_t step) const override {
    const bool pushes = step < messages_;
    const Slice message = cut_.part(step % messages_);
    if (rank < workers_) {
      const Side to_servers{
          .first = workers_, .count = servers_, .step = step, .slice = message, .split = true};
      return pushes ? Op{.send = to_servers} : Op{.recv = to_servers};
    }
    const Side to_workers{.first = 0,
                          .count = workers_,
                          .step = step,
                          .slice = part_of(message, rank - workers_, servers_)};
    return pushes ? Op{.recv = to_workers, .reduce = true} : Op{.send = to_workers};
  }
  double messages() const override { return 2.0 * workers_ * servers_ * messages_; }

 private:
  Rank workers_;
  Rank servers_;
  std::int32_t messages_;
  Cut cut_;
};

}  // namespace

std::unique_ptr<Program> push_pull(Rank workers, Rank servers, Slice data, std::int32_t messages) {
  return std::make_unique<PushPull>(workers, servers, data, messages);
}

}  // namespace steptime
