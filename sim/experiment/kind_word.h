// A word that says something of a kind of step, such as "Volta", as a small number: kinds are
// compared at every point of a sweep, and read by people seldom. Equal texts are equal numbers in
// all threads of a process; the numbers mean nothing outside it.
#pragma once
#include <compare>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace steptime {

class KindWord {
 public:
  KindWord() = default;  ///< ""
  // Implicit, as a word is its text.
  KindWord(std::string_view text);    // NOLINT(google-explicit-constructor)
  KindWord(const std::string& text);  // NOLINT(google-explicit-constructor)
  KindWord(const char* text);         // NOLINT(google-explicit-constructor)

  const std::string& text() const;
  /// An order for maps, which is not that of texts.
  auto operator<=>(const KindWord&) const = default;
  /// "first, second". Each thread knows those that it has joined.
  static KindWord joined(KindWord first, KindWord second);

 private:
  std::uint32_t number_ = 0;
};

inline std::ostream& operator<<(std::ostream& out, KindWord word) {
  return out << word.text();
}

}  // namespace steptime
