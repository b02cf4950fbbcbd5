// What the simulator says about its own work, on stderr: files read, ways chosen, amounts. Results
// and messages to the user never go this way. The library says what it does at debug, verbs at
// info.
#pragma once
#include <memory>
#include <ostream>
#include <string>

namespace spdlog {
class logger;
}

namespace steptime {

/// While it lives, diagnostics go to `err`: those from `warn` on, until show() says otherwise.
class Diagnostics {
 public:
  explicit Diagnostics(std::ostream& err);
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  /// `level`: trace, debug, info, warn, error or off. Throws InputError for another.
  static void show(const std::string& level);

 private:
  std::shared_ptr<spdlog::logger> before_;
};

}  // namespace steptime
