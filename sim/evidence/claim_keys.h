// The keys of an experiment's "claims" and of what stands in them.
#pragma once
#include "sim/config/config.h"

namespace steptime {

const Params& claims_params();
/// Of one published figure.
const Params& claim_params();
/// value(set), or value(set + of) / value(set + over).
const Params& measure_params();
const Params& order_params();
/// Of a map, of its "sizes", and of a row under its "for".
const Params& map_params();
const Params& map_sizes_params();
const Params& map_row_params();

}  // namespace steptime
