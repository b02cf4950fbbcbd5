#include "sim/command/diagnostics.h"

#include "sim/config/json.h"
#include "sim/config/words.h"
#include "sim/core/error.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

namespace steptime {

Diagnostics::Diagnostics(std::ostream& err) : before_(spdlog::default_logger()) {
  auto logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(err));
  logger->set_pattern("%l: %v");  // no clock: the same run says the same
  logger->set_level(spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

Diagnostics::~Diagnostics() {
  spdlog::set_default_logger(std::move(before_));
}

void Diagnostics::show(const std::string& level) {
  static const std::vector<std::string> known{"trace", "debug", "info", "warn", "error", "off"};
  check_word("--log-level", level, known);
  spdlog::set_level(spdlog::level::from_str(level));
}

}  // namespace steptime
