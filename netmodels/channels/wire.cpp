// Bytes go straight to the wire.
#include "sim/servers/channel.h"

#include <memory>

namespace steptime {
namespace {

class Wire final : public MessageChannel {
 public:
  std::unique_ptr<ChannelEnds> open(Engine&, const ConnectionEnds&) const override {
    return nullptr;
  }
  bool is_wire() const override { return true; }
};

const bool kRegistered =
    MessageChannels::instance().add("wire", "bytes go straight to the wire", {},
                                    [](const Config&) { return std::make_unique<Wire>(); });

}  // namespace
}  // namespace steptime
