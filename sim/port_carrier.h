// Analytic fidelity: pushes and pulls take the ports of sim/ports.h, and the collectives inside a
// client their closed forms.
#pragma once
#include "sim/carrier.h"
#include "sim/engine.h"
#include "sim/ports.h"
#include "sim/training.h"

#include <cstdint>
#include <vector>

namespace steptime {

class PortCarrier final : public Carrier {
 public:
  /// All must outlive the carrier.
  PortCarrier(const TrainingPlan& plan, Engine& engine, CarrierUser& user);

  void send(const Parcel& parcel, Time at) override;
  Duration latency(std::int32_t client, std::int32_t server) override;
  void all_reduce(std::int32_t client, std::size_t bucket, Time start) override;
  void broadcast(std::int32_t client, std::size_t bucket, Time start) override;
  void run() override { engine_.run(); }

 private:
  struct Ends {
    PortEnd from;
    PortEnd to;
  };
  Ends ends_of(const Parcel& parcel) const;
  PortEnd client_end(std::int32_t client) const;
  PortEnd server_end(std::int32_t server) const;

  const TrainingPlan& plan_;
  Engine& engine_;
  CarrierUser& user_;
  std::int64_t members_;  ///< workers of a client
  Ports ports_;
  std::vector<Time> broadcast_free_;  ///< when a client's broadcasts so far are over
};

}  // namespace steptime
