// How a client asks its servers for the exchange of a bucket: when, after it has pushed, it asks
// for the values.
#pragma once
#include <cstdint>
#include <string>

namespace steptime {

class Client;
class Servers;

class Requests {
 public:
  virtual ~Requests() = default;
  /// Pushes the client's bucket now; `who` hears of the end.
  virtual void exchange(Servers& servers, std::int32_t client, std::int32_t bucket,
                        Client& who) const = 0;
  /// How often an exchange goes from one to the other and waits for that.
  virtual std::int64_t trips() const { return 4; }
  /// Whether its end is that the client has the values; else it pulls them all at the start of the
  /// next step, whose layers wait for their own.
  virtual bool brings_values() const { return true; }
};

/// The pull is asked for once the servers have answered all pushes of the bucket: where these wait
/// for all clients, with the sum ready.
const Requests& push_then_pull();
/// Both are one request, whose answer carries the values.
const Requests& one_request();
/// The pull is asked for once a push is in; the request queues behind what the client still has to
/// send, and a server answers it when the sum is ready.
const Requests& early_pull();
const Requests& pull_in_next_step();
/// "push-pull", "pushpull", "early-pull" or "next-step", which a config may have.
const Requests& requests_named(const std::string& name);

}  // namespace steptime
