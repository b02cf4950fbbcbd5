// Any bytes as a trace file. What is read and written again is read as the same trace.
#include "sim/core/error.h"
#include "sim/workload/workload.h"

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace steptime;
  std::string written;
  try {
    written = write_trace(parse_trace({reinterpret_cast<const char*>(data), size}, "fuzz.json"));
  } catch (const InputError&) {
    return 0;
  }
  // No InputError from here on: what Steptime writes, it can read.
  const std::string again = write_trace(parse_trace(written, "written.json"));
  STEPTIME_CHECK(again == written, "a trace changes when it is written and read");
  return 0;
}
