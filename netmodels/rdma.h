// What adapters tell NCCL of themselves.
#pragma once

namespace steptime {

class TellsLatency {
 public:
  virtual ~TellsLatency() = default;
  /// Latency in us that a plug-in for the adapters tells NCCL, which chooses by it; 0: none. It is
  /// no measured one.
  virtual double told_us() const = 0;
};

}  // namespace steptime
