// What differing in one attribute costs a prediction: d of sim/experiment/track_record.h.
#pragma once
#include "sim/experiment/record_row.h"

#include <array>
#include <span>

namespace steptime {

/// By attribute. Without rows all d are 0.
std::array<AttributeSpread, kAttributes> attribute_spreads(std::span<const RecordRow> rows);

}  // namespace steptime
