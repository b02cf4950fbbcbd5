// Neither slows the other down, as on a GPU whose collectives another processor moves.
#include "sim/workload/overlap.h"

#include <memory>

namespace steptime {
namespace {

class None final : public Overlap {
 public:
  Slowdown beside(const Pair&, Bytes, std::optional<std::int64_t>) const override { return {}; }
  bool slows_links() const override { return false; }
};

const bool kRegistered = Overlaps::instance().add(
    "none", "neither slows the other", {}, [](const Config&) { return std::make_unique<None>(); });

}  // namespace
}  // namespace steptime
