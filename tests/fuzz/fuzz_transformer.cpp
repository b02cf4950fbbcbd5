// Any bytes as a transformer's shape.
#include "models/transformer.h"
#include "models/transformer_work.h"
#include "sim/core/error.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const steptime::TransformerShape shape =
        steptime::parse_transformer({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    (void)shape.parameters();
    (void)steptime::multiply_accumulates(shape, 1);
  } catch (const steptime::InputError&) {
    return 0;
  }
  return 0;
}
