#include "sim/core/error.h"

#include <string>

#include <fmt/format.h>

namespace steptime {

void check_failed(const char* condition, const char* file, int line, const std::string& detail) {
  throw InternalError(fmt::format("{}:{}: {} does not hold: {}", file, line, condition, detail));
}

}  // namespace steptime
