#include "sim/evidence/claim_keys.h"

namespace steptime {

const Params& claims_params() {
  static const Params params{
      {.key = "paper", .kind = Kind::kText, .help = "short name of the source"},
      {.key = "source", .kind = Kind::kText, .help = "citation"},
      {.key = "inputs", .kind = Kind::kText, .help = "what the simulation is fed"},
      {.key = "fitted",
       .kind = Kind::kText,
       .help = "inputs fitted to the same source",
       .need = Need::kDefault,
       .fallback = ""},
      {.key = "testbed",
       .kind = Kind::kText,
       .help = "where steps were measured: files of one testbed name it alike; default: the source",
       .need = Need::kOptional},
      {.key = "fabric",
       .kind = Kind::kText,
       .help = "the fabric inside the testbed's single node, where the nodes of the cluster stand "
               "for its GPUs",
       .need = Need::kOptional},
      {.key = "by_name",
       .kind = Kind::kObject,
       .help =
           "what is set for a prediction made before fitting: presets, devices and libraries by "
           "name in place of what was fitted on the testbed; null leaves a key out; without it "
           "none of the figures is in the record",
       .need = Need::kOptional},
      {.key = "by_device",
       .kind = Kind::kObject,
       .help = "what is set beside it where the device's model says how long a worker computes",
       .need = Need::kDefault,
       .fallback = Json{{"/workload/compute_time", nullptr},
                        {"/workload/forward_share", nullptr},
                        {"/workload/rescale", nullptr}}},
      {.key = "tolerance_pct",
       .kind = Kind::kNumber,
       .need = Need::kDefault,
       .fallback = 10,
       .range = kPositive},
      {.key = "figures", .kind = Kind::kList, .help = "the published figures"},
      {.key = "rows",
       .kind = Kind::kObject,
       .help = "a file of published rows, and what their fields stand for",
       .need = Need::kOptional},
      {.key = "maps",
       .kind = Kind::kList,
       .help = "which way to do a collective is the fastest, by size",
       .need = Need::kDefault,
       .fallback = Json::array()}};
  return params;
}

const Params& claim_params() {
  static const Params params{
      {.key = "id", .kind = Kind::kText},
      {.key = "quantity", .kind = Kind::kText},
      {.key = "unit", .kind = Kind::kText, .need = Need::kDefault, .fallback = ""},
      {.key = "published", .kind = Kind::kAny, .help = "a number, or an ordering \"A < B\""},
      {.key = "relation",
       .kind = Kind::kText,
       .need = Need::kDefault,
       .fallback = "=",
       .words = {"=", ">=", "<="}},
      {.key = "where", .kind = Kind::kText, .help = "section, figure or table"},
      {.key = "testbed",
       .kind = Kind::kText,
       .help = "where it was measured, where the file has several",
       .need = Need::kOptional},
      {.key = "tolerance_pct", .kind = Kind::kNumber, .need = Need::kOptional, .range = kPositive},
      {.key = "kind",
       .kind = Kind::kText,
       .need = Need::kDefault,
       .fallback = "predicted",
       .words = {"predicted", "fitted"}},
      {.key = "inputs", .kind = Kind::kText, .need = Need::kOptional},
      {.key = "fitted", .kind = Kind::kText, .need = Need::kOptional},
      {.key = "note", .kind = Kind::kText, .need = Need::kDefault, .fallback = ""},
      {.key = "missed_because", .kind = Kind::kText, .need = Need::kDefault, .fallback = ""},
      {.key = "settings_are_known",
       .kind = Kind::kBoolean,
       .help = "false where the source does not say all that the simulation needs: the figure then "
               "tells nothing of how good predictions are",
       .need = Need::kDefault,
       .fallback = true},
      {.key = "by_name",
       .kind = Kind::kObject,
       .help = "more of the file's \"by_name\"",
       .need = Need::kDefault,
       .fallback = Json::object()},
      {.key = "has_device_model",
       .kind = Kind::kBoolean,
       .help = "false where no device model computes as the source did, such as in 8 bits: nothing "
               "is then predicted from the device",
       .need = Need::kDefault,
       .fallback = true},
      {.key = "measure", .kind = Kind::kObject, .need = Need::kOptional},
      {.key = "order", .kind = Kind::kObject, .need = Need::kOptional},
      {.key = "alternatives",
       .kind = Kind::kObject,
       .help = "label: more values to set",
       .need = Need::kDefault,
       .fallback = Json::object()}};
  return params;
}

const Params& measure_params() {
  static const Params params{
      {.key = "value", .kind = Kind::kText, .help = "a key of a result, or of a collective"},
      {.key = "bytes",
       .kind = Kind::kInteger,
       .help = "of one collective, without the rest of the step",
       .need = Need::kOptional,
       .range = {.low = 0, .high = 1e18}},
      {.key = "measured",
       .kind = Kind::kPath,
       .help = "times of the collective, to compare powers of two with",
       .need = Need::kOptional},
      {.key = "from_bytes",
       .kind = Kind::kInteger,
       .help = "the smallest size of \"measured\" that counts",
       .need = Need::kDefault,
       .fallback = 0,
       .range = {.low = 0, .high = 1e18}},
      {.key = "to_bytes",
       .kind = Kind::kInteger,
       .help = "the largest one",
       .need = Need::kDefault,
       .fallback = 1'000'000'000'000'000'000,
       .range = {.low = 0, .high = 1e18}},
      {.key = "set", .kind = Kind::kObject, .need = Need::kDefault, .fallback = Json::object()},
      {.key = "of", .kind = Kind::kObject, .need = Need::kDefault, .fallback = Json::object()},
      {.key = "over", .kind = Kind::kObject, .need = Need::kOptional},
      {.key = "scale", .kind = Kind::kNumber, .need = Need::kDefault, .fallback = 1}};
  return params;
}

const Params& order_params() {
  static const Params params{
      {.key = "value", .kind = Kind::kText, .help = "a key of a result or collective, to order by"},
      {.key = "bytes",
       .kind = Kind::kInteger,
       .help = "of one collective, without the rest of the step",
       .need = Need::kOptional,
       .range = {.low = 0, .high = 1e18}},
      {.key = "set", .kind = Kind::kObject, .need = Need::kDefault, .fallback = Json::object()},
      {.key = "over",
       .kind = Kind::kObject,
       .help = "order by the ratio to the same entry with these values",
       .need = Need::kOptional},
      {.key = "fits",
       .kind = Kind::kBoolean,
       .help = "leave out what needs more memory than its device has",
       .need = Need::kDefault,
       .fallback = false},
      {.key = "show",
       .kind = Kind::kText,
       .help = "the whole ordering, or the entry at one end of it",
       .need = Need::kDefault,
       .fallback = "order",
       .words = {"order", "smallest", "largest"}},
      {.key = "of", .kind = Kind::kObject, .help = "label: values to set"}};
  return params;
}

const Params& map_params() {
  static const Params params{
      {.key = "id", .kind = Kind::kText},
      {.key = "quantity", .kind = Kind::kText},
      {.key = "where", .kind = Kind::kText, .help = "section, figure or table"},
      {.key = "note", .kind = Kind::kText, .need = Need::kDefault, .fallback = ""},
      {.key = "sizes", .kind = Kind::kObject},
      {.key = "set", .kind = Kind::kObject, .need = Need::kDefault, .fallback = Json::object()},
      {.key = "of", .kind = Kind::kObject, .help = "label: values to set, of what is compared"},
      {.key = "for", .kind = Kind::kObject, .help = "label: of a row of the map"}};
  return params;
}

const Params& map_sizes_params() {
  static const Params params{
      {.key = "from", .kind = Kind::kNumber, .range = {.low = 1, .high = 1e15}},
      {.key = "to", .kind = Kind::kNumber, .range = {.low = 1, .high = 1e15}},
      {.key = "unit", .kind = Kind::kText, .help = "what is counted, such as floats a key"}};
  return params;
}

const Params& map_row_params() {
  static const Params params{
      {.key = "bytes", .kind = Kind::kNumber, .help = "of one unit of size", .range = kPositive},
      {.key = "set", .kind = Kind::kObject, .need = Need::kDefault, .fallback = Json::object()}};
  return params;
}

}  // namespace steptime
