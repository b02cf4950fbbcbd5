#include "sim/servers/requests.h"

#include "sim/core/error.h"
#include "sim/servers/servers.h"

#include <algorithm>
#include <array>

namespace steptime {
namespace {

constexpr std::array kRequests{
    Requests{"push-pull", &Servers::push_then_pull}, Requests{"pushpull", &Servers::pushpull, 2},
    Requests{"early-pull", &Servers::push_and_ask},
    Requests{.name = "next-step", .exchange = &Servers::push, .brings_values = false}};

}  // namespace

const Requests& requests_named(std::string_view name) {
  const auto* const found = std::ranges::find(kRequests, name, &Requests::name);
  STEPTIME_CHECK(found != kRequests.end(), "a config names one of the requests");
  return *found;
}

}  // namespace steptime
