// Elastic averaging: a client trains by itself and exchanges its parameters w with the centre c of
// the servers in every `interval`-th step, the first one included:
//
//   server: c' = c + alpha (w - c)      client: w' = w - alpha (w - c or c')      (001, 2 and 3)
//
// Parameters: interval [steps], alpha, reading: "push-then-pull" is Figure 8, where the pull comes
// after the push and so returns c'; "simultaneous" is the equations as printed, both with c.
// Limits: Figure 8 as printed updates the parameters only in exchange steps, and counts keys
// instead of batches; here every batch does an SGD update, and `interval` counts batches. Source:
// 001 section 5, equations 2 and 3, Figure 8.
#include "sim/servers/aggregation.h"

#include <memory>
#include <string>

namespace steptime {
namespace {

const Params kParams{{.key = "interval",
                      .kind = Kind::kInteger,
                      .help = "steps from exchange to exchange",
                      .need = Need::kDefault,
                      .fallback = 64,
                      .range = {.low = 1, .high = 1e9}},
                     {.key = "alpha",
                      .kind = Kind::kNumber,
                      .help = "how far centre and client move towards each other",
                      .need = Need::kDefault,
                      .fallback = 0.5,
                      .range = {.low = 0, .high = 1}},
                     {.key = "reading",
                      .kind = Kind::kText,
                      .help = "which centre a client gets: after or before its own push",
                      .need = Need::kDefault,
                      .fallback = "push-then-pull",
                      .words = {"push-then-pull", "simultaneous"}}};

const bool kRegistered = Updates::instance().add(
    "esgd", "elastic averaging with the servers, now and then", kParams, [](const Config& c) {
      return std::make_unique<Update>(
          Update{.kind = Update::Kind::kEsgd,
                 .interval = c.get<std::int64_t>("interval"),
                 .alpha = c.get<double>("alpha"),
                 .pull_sees_push = c.get<std::string>("reading") == "push-then-pull"});
    });

}  // namespace
}  // namespace steptime
