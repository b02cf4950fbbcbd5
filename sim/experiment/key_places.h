// The keys of a config at their places, each with the table that it is read through; and which of
// those that it states have no effect.
#pragma once
#include "sim/config/config.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace steptime {

/// A key at its place in a config, be it stated there or not.
struct KeyPlace {
  std::string pointer;
  const Param* param = nullptr;
  const Params* params = nullptr;  ///< the table that has it
  std::string table;  ///< "/cluster" of a section, "schedule priority" of what is chosen by name
};

/// Calls `tell` for every key of the tables that hold in a config, with what stands there, or else
/// its default; null: neither. `object`: where the key stands. The objects of lists have none.
void for_each_key(
    const Json& config,
    const std::function<void(const KeyPlace&, const Json& object, const Json& value)>& tell);

/// Throws InputError for a key that is set to something else than its default and acts at no
/// fidelity beside another key of its object, unless the config's sweep or claims set that one. Of
/// a config that was read without an error; variants of a config that steptime makes itself are not
/// asked, as what it compares has keys that only some of them need.
void check_keys_act(const std::shared_ptr<const Document>& document);
/// "FILE: /pointer: no effect at analytic fidelity", of each key that is set to something else than
/// its default and acts at the other fidelity only.
std::vector<std::string> keys_of_other_fidelity(const std::shared_ptr<const Document>& document);

}  // namespace steptime
