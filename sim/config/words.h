// What is said of a word that is none of those that are known.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace steptime {

/// The word of `known` that `word` most likely meant, or "".
std::string closest(std::string_view word, std::span<const std::string> known);

/// unknown "flaot32" (did you mean "float32"?); known: float32, float16
/// Of more than 30 known ones those that are alike, and how many there are.
std::string unknown_word(const std::string& word, std::span<const std::string> known);

/// Whether a terminal shows it as it stands: not empty, and without control characters.
bool is_printable(const std::string& text);

/// Throws InputError "OPTION: unknown ..." unless `word` is known.
void check_word(const std::string& option, const std::string& word,
                std::span<const std::string> known);

}  // namespace steptime
