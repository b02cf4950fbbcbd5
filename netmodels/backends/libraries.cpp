// Libraries that bring their own all-reduce of GPU buffers: the collective of the same name stands
// where the aggregation names none, with its defaults; one that the config names counts instead, so
// that its parameters are given there: {"type": "nccl", "version": "2.3.7"}.
//
// Scope, parameters and sources: those of the collectives.
#include "sim/collective/backend.h"

#include <memory>
#include <string>
#include <utility>

namespace steptime {
namespace {

class Library : public Backend {
 public:
  explicit Library(std::string collective) : collective_(std::move(collective)) {}
  std::string library() const override { return collective_; }

 private:
  std::string collective_;
};

class Nccl final : public Library {
 public:
  Nccl() : Library("nccl") {}
  bool launches() const override { return true; }
};

bool add(const std::string& name, const std::string& help) {
  return Backends::instance().add(
      name, help, {}, [name](const Config&) { return std::make_unique<Library>(name); });
}

const bool kRegistered =
    Backends::instance().add("nccl", "NCCL's kernels", {},
                             [](const Config&) { return std::make_unique<Nccl>(); }) &&
    add("mvapich2-gdr", "MVAPICH2 on GPU buffers, large ones by the host") &&
    add("mpi-opt", "MVAPICH2 with a pointer cache and kernels that add up") &&
    add("baidu-ring", "a ring of sends, whose GPUs add up");

}  // namespace
}  // namespace steptime
