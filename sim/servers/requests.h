// How a client asks its servers for the exchange of a bucket: when, after it has pushed, it asks
// for the values.
#pragma once
#include <cstdint>
#include <string_view>

namespace steptime {

class Client;
class Servers;

struct Requests {
  std::string_view name;  ///< "push-pull", "pushpull", "early-pull" or "next-step" in a config
  /// Pushes the client's bucket now; `who` hears of the end.
  void (Servers::*exchange)(std::int32_t client, std::int32_t bucket, Client& who) = nullptr;
  /// How often an exchange goes from one to the other and waits for that.
  std::int64_t trips = 4;
  /// The exchange ends when the client has the values; else it pulls them all at the start of the
  /// next step, whose layers wait for their own.
  bool brings_values = true;
};

/// Those of a name that a config may have.
const Requests& requests_named(std::string_view name);

}  // namespace steptime
