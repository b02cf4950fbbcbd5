// How much a result is worth, in words for people and for programs.
#pragma once
#include "sim/config/json.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace steptime {

/// How much a result is worth.
struct Validity {
  enum class Status : std::uint8_t {
    kValidated,     ///< five measured steps share its kind, and it lies within their ranges
    kExtrapolated,  ///< beyond these, or there are fewer
    kUnvalidated    ///< no measured step shares its kind
  };
  Status status = Status::kUnvalidated;
  std::int64_t n = 0;                 ///< measured steps of its kind
  double typical_pct = 0;             ///< their median absolute error
  std::optional<double> worst_pct{};  ///< none: fewer than three testbeds have its kind
  std::vector<std::string> beyond{};  ///< reasons

  bool is_validated() const { return status == Status::kValidated; }
  std::string_view word() const;
  /// "validated", or "extrapolated: reason; reason".
  std::string text() const;
  /// {"status", "n", "typical_pct", "worst_pct" where it is known, "beyond"}
  std::string json() const;
  void append_json(std::string& text) const;
  /// What text() says, from what json() wrote.
  static std::string text(const Json& json);
};

}  // namespace steptime
