// Any bytes as a layer table.
#include "models/layer_table.h"
#include "sim/core/error.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    steptime::parse_layer_table({reinterpret_cast<const char*>(data), size}, "fuzz.json");
  } catch (const steptime::InputError&) {
    return 0;
  }
  return 0;
}
