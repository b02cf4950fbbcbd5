// Async: no framework is modelled; one communication thread takes the buckets in the order in which
// they become ready, and the next step starts when the last one is through.
#include "sim/mxnet/embedding.h"

#include <memory>
#include <optional>

namespace steptime {
namespace {

class Async final : public Embedding {
 public:
  Async() : Embedding(std::nullopt) {}
};

const bool kRegistered =
    Embeddings::instance().add("async", "one communication thread takes what is ready", {},
                               [](const Config&) { return std::make_unique<Async>(); }) &&
    Embeddings::instance().set_default("async");

}  // namespace
}  // namespace steptime
