// The values of one key of a "sweep": a list, a progression or a random sample.
//
//   [1, 2, {"label": "fast", "value": {...}}]        as they stand, some with a name for tables
//   ["x0.5", "x2"]                                   times the config's own value
//   {"from": "10 Gbps", "to": "400 Gbps", "times": 2}, or "plus": "10 Gbps"
//   [null, {"chance": 0.1}]                          without the key, and with it
//   {"random": 100, "from": "1 us", "to": "1 ms", "scale": "log", "seed": 7}
#pragma once
#include "sim/config/config.h"

#include <optional>
#include <string>
#include <vector>

namespace steptime {

/// The keys of an object that stands for a progression or a random sample.
const Params& swept_range_params();

struct SweptValue {
  Json value;
  std::string label;      ///< how a cell of a table shows it
  bool is_named = false;  ///< by the user

  /// What stands for it among a row's "params".
  Json shown() const { return is_named ? Json(label) : value; }
};

/// Throws InputError for what is no set of values. `pointer` names a place in the document.
std::vector<SweptValue> swept_values(const Document& document, const std::string& pointer,
                                     const Json& values);

/// A number, or a quantity in its base unit (s, B, B/s, s/B): where a value stands on an axis.
std::optional<double> place_on_axis(const Json& value);
/// The unit of a quantity; "" of anything else.
std::string unit_on_axis(const Json& value);
/// The last name of a swept pointer that says something: "type" stands for what it is the type of.
std::string swept_name(const std::string& pointer);
/// A value as a cell; of an object that chooses by type, that.
std::string swept_value(const Json& value);

}  // namespace steptime
