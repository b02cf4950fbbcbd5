// The JSON Schema of experiments, made from the tables that read them.
#pragma once
#include "sim/config/json.h"

namespace steptime {

Json experiment_schema();

}  // namespace steptime
