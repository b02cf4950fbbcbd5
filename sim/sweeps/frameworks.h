// What the systems that `advise` speaks of can run: which settings each has, what it sends
// gradients through, and what to write there.
//
//   any             whatever is written by hand: every schedule over every collective
//   PyTorch DDP     buckets over NCCL, or what the config reduces with; over Gloo's ring where it
//                   reduces with nothing; never servers
//   Horovod         fusion under its coordinator, whose cycle it is, over NCCL, or over MPI's ring,
//                   halving and doubling or recursive doubling
//   ByteScheduler   priorities over NCCL, over what the config reduces with, or over servers
//
// Of these only what is written by hand goes with an engine of MXNet's that the config has.
//
// Scope: a collective that is known by measurement is kept, as formulas are no match for it.
#pragma once
#include "sim/config/json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

/// A schedule and what it is called where it is set.
struct Setting {
  std::string name;
  std::string paste;  ///< "": the messages themselves are to be said
  Json schedule;
  Json coordinator{};  ///< null: as the way has it
};

/// What a system sends gradients through.
struct GradientWay {
  std::string name;    ///< the collective, or "a server on each node"
  bool is_own = true;  ///< the config's
  Json aggregation{};  ///< null: as the config has it
  Json transport{};    ///< null: as the config has it
  Json embedding{};    ///< null: as the config has it
};

struct Framework {
  std::string name;
  std::vector<Setting> settings;
  std::vector<GradientWay> ways;
};

/// `strategy`: a config's, with its defaults. Its own way comes first where a framework has it.
std::vector<Framework> frameworks(const Json& strategy, std::int64_t nodes);

/// Numbers in fewer bytes: what a framework computes or sends then is not the same.
struct Narrowing {
  std::string name;
  std::string paste;
  Json set;  ///< JSON pointer to value
};
/// What `framework` offers of it to a "workload" section.
std::vector<Narrowing> narrowings(const std::string& framework, const Json& workload);

}  // namespace steptime
