// Which keys act only beside some values of another key of their object, or at one fidelity only.
// The file that declares a key says so:
//
//   const bool kUses = acts_beside("pull_order", "requests", {"next-step"});
//
// It holds in every table that has both keys. What a size takes away is not said here: a key about
// several GPUs stays allowed where a node has one.
#pragma once
#include "sim/config/config.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// The key acts only where `beside` has one of these values. A choice is known by its type, a key
/// that has no value by null.
bool acts_beside(const std::string& key, const std::string& beside, std::vector<Json> values);
/// The key acts only where `beside` has none of these values, or another key of which the same is
/// said has none.
bool idle_beside(const std::string& key, const std::string& beside, std::vector<Json> values);
/// Where both keys are, but for where `beside` has one of these values, the key acts at one
/// fidelity only, "analytic" or "message".
bool acts_at(const std::string& fidelity, const std::string& key, const std::string& beside,
             std::vector<Json> but_for = {});

/// Why a key has no effect.
struct Idle {
  std::vector<std::string> beside;  ///< the keys of the same object that leave it without
  std::string why;                  ///< as a message tells it
};
/// Of a key of an object that is read through `params`; none where it acts at some fidelity.
std::optional<Idle> idle(const Param& param, const Params& params, const Json& object);
/// The only fidelity at which it acts; "" where that does not matter.
std::string_view only_fidelity(const Param& param, const Params& params, const Json& object);

}  // namespace steptime
