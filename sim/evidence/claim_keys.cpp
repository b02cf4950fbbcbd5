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
       .help = "how far off a figure may be and count as ok",
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
      {.key = "id", .kind = Kind::kText, .help = "by which `reproduce` finds it"},
      {.key = "quantity", .kind = Kind::kText, .help = "what the figure is"},
      {.key = "unit",
       .kind = Kind::kText,
       .help = "of a number",
       .need = Need::kDefault,
       .fallback = ""},
      {.key = "published", .kind = Kind::kAny, .help = "a number, or an ordering \"A < B\""},
      {.key = "relation",
       .kind = Kind::kText,
       .help =
           "of the simulated figure to the published one: equal within the tolerance, or a bound",
       .need = Need::kDefault,
       .fallback = "=",
       .words = {"=", ">=", "<="}},
      {.key = "where", .kind = Kind::kText, .help = "section, figure or table"},
      {.key = "testbed",
       .kind = Kind::kText,
       .help = "where it was measured, where the file has several",
       .need = Need::kOptional},
      {.key = "tolerance_pct",
       .kind = Kind::kNumber,
       .help = "default: that of the file",
       .need = Need::kOptional,
       .range = kPositive},
      {.key = "kind",
       .kind = Kind::kText,
       .help = "fitted where any input was fitted to the source of the figure",
       .need = Need::kDefault,
       .fallback = "predicted",
       .words = {"predicted", "fitted"}},
      {.key = "inputs",
       .kind = Kind::kText,
       .help = "default: those of the file",
       .need = Need::kOptional},
      {.key = "fitted",
       .kind = Kind::kText,
       .help = "default: that of the file",
       .need = Need::kOptional},
      {.key = "note",
       .kind = Kind::kText,
       .help = "what a reader should know",
       .need = Need::kDefault,
       .fallback = ""},
      {.key = "missed_because",
       .kind = Kind::kText,
       .help = "the reason of a miss, which `reproduce` prints",
       .need = Need::kDefault,
       .fallback = ""},
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
      {.key = "measure",
       .kind = Kind::kObject,
       .help = "how the figure is simulated: a key of a result, or the ratio of two; this, or",
       .need = Need::kOptional},
      {.key = "order",
       .kind = Kind::kObject,
       .help = "what sorts several runs",
       .need = Need::kOptional},
      {.key = "alternatives",
       .kind = Kind::kObject,
       .help = "by a label, values to set: the same figure under another convention",
       .need = Need::kDefault,
       .fallback = Json::object()}};
  return params;
}

const Params& measure_params() {
  static const Params params{
      {.key = "value",
       .kind = Kind::kText,
       .help = "a key of a result; with `bytes` `time_us`, `algbw_GBps` or `busbw_GBps`"},
      {.key = "bytes",
       .kind = Kind::kInteger,
       .help = "of one collective, without the rest of the step",
       .need = Need::kOptional,
       .range = {.low = 0, .high = 1e18}},
      {.key = "measured",
       .kind = Kind::kPath,
       .help =
           "a file of measured times: `value` is then `geomean_error_pct`, over its powers of two",
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
      {.key = "set",
       .kind = Kind::kObject,
       .help = "JSON pointers into the experiment and what is set there",
       .need = Need::kDefault,
       .fallback = Json::object()},
      {.key = "of",
       .kind = Kind::kObject,
       .help = "the same, of the first of two runs",
       .need = Need::kDefault,
       .fallback = Json::object()},
      {.key = "over",
       .kind = Kind::kObject,
       .help = "the same, of the run that the first one is divided by",
       .need = Need::kOptional},
      {.key = "scale",
       .kind = Kind::kNumber,
       .help = "multiplies the value",
       .need = Need::kDefault,
       .fallback = 1}};
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
      {.key = "set",
       .kind = Kind::kObject,
       .help = "JSON pointers and values, of all runs",
       .need = Need::kDefault,
       .fallback = Json::object()},
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
      {.key = "of", .kind = Kind::kObject, .help = "by a label, JSON pointers and values"}};
  return params;
}

const Params& map_params() {
  static const Params params{
      {.key = "id", .kind = Kind::kText, .help = "by which `reproduce` finds it"},
      {.key = "quantity", .kind = Kind::kText, .help = "what the map shows"},
      {.key = "where", .kind = Kind::kText, .help = "section, figure or table"},
      {.key = "note",
       .kind = Kind::kText,
       .help = "what a reader should know",
       .need = Need::kDefault,
       .fallback = ""},
      {.key = "sizes", .kind = Kind::kObject, .help = "from where to where, and what is counted"},
      {.key = "set",
       .kind = Kind::kObject,
       .help = "JSON pointers and values, of all runs",
       .need = Need::kDefault,
       .fallback = Json::object()},
      {.key = "of",
       .kind = Kind::kObject,
       .help = "by a label, JSON pointers and values: what is compared"},
      {.key = "for", .kind = Kind::kObject, .help = "by a label, a line of the map"}};
  return params;
}

const Params& map_sizes_params() {
  static const Params params{
      {.key = "from",
       .kind = Kind::kNumber,
       .help = "the smallest size",
       .range = {.low = 1, .high = 1e15}},
      {.key = "to",
       .kind = Kind::kNumber,
       .help = "the largest size",
       .range = {.low = 1, .high = 1e15}},
      {.key = "unit", .kind = Kind::kText, .help = "what is counted, such as floats a key"}};
  return params;
}

const Params& map_row_params() {
  static const Params params{
      {.key = "bytes", .kind = Kind::kNumber, .help = "of one unit of size", .range = kPositive},
      {.key = "set",
       .kind = Kind::kObject,
       .help = "JSON pointers and values, of this line",
       .need = Need::kDefault,
       .fallback = Json::object()}};
  return params;
}

}  // namespace steptime
