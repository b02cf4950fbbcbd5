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

}  // namespace steptime
