#include "sim/servers/requests.h"

#include "sim/servers/servers.h"

namespace steptime {

const Requests& push_then_pull() {
  class PushThenPull final : public Requests {
    void exchange(Servers& servers, std::int32_t client, std::int32_t bucket,
                  Client& who) const override {
      servers.push_then_pull(client, bucket, who);
    }
  };
  static const PushThenPull requests;
  return requests;
}

const Requests& one_request() {
  class OneRequest final : public Requests {
    void exchange(Servers& servers, std::int32_t client, std::int32_t bucket,
                  Client& who) const override {
      servers.pushpull(client, bucket, who);
    }
    std::int64_t trips() const override { return 2; }
  };
  static const OneRequest requests;
  return requests;
}

const Requests& early_pull() {
  class EarlyPull final : public Requests {
    void exchange(Servers& servers, std::int32_t client, std::int32_t bucket,
                  Client& who) const override {
      servers.push_and_ask(client, bucket, who);
    }
  };
  static const EarlyPull requests;
  return requests;
}

const Requests& pull_in_next_step() {
  class PullInNextStep final : public Requests {
    void exchange(Servers& servers, std::int32_t client, std::int32_t bucket,
                  Client& who) const override {
      servers.push(client, bucket, who);
    }
    bool brings_values() const override { return false; }
  };
  static const PullInNextStep requests;
  return requests;
}

const Requests& requests_named(const std::string& name) {
  if (name == "pushpull") return one_request();
  if (name == "early-pull") return early_pull();
  return name == "next-step" ? pull_in_next_step() : push_then_pull();
}

}  // namespace steptime
