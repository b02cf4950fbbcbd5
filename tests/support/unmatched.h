// A collective that never ends.
#pragma once
#include "netmodels/programs.h"
#include "sim/collective/collective_program.h"
#include "sim/collective/message_collective.h"

#include <cstdint>
#include <memory>
#include <string>

namespace steptime {

/// Rank 1 waits for a message of rank 2, which sends none.
class NeverMatches final : public Program {
 public:
  Rank ranks() const override { return 3; }
  std::int32_t steps(Rank rank) const override { return rank == 1 ? 1 : 0; }
  Op op(Rank, std::int32_t) const override {
    return {.recv = {.first = 2, .count = 1, .slice = {0, 100}}};
  }
  double messages() const override { return 1; }
};

class Unmatched final : public MessageCollective {
 public:
  using MessageCollective::MessageCollective;
  Programs programs(Bytes) const override { return one(std::make_unique<NeverMatches>()); }
};

/// What is said about it, behind its name.
inline const std::string kWaits =
    "rank 1 of 3 waits in its step 0 to receive from rank 2 in that one's step 0, which has ended: "
    "no such message is ever sent";

}  // namespace steptime
