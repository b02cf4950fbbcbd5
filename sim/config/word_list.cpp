#include "sim/config/word_list.h"

#include <fmt/format.h>

namespace steptime {

std::string listed(std::span<const std::string> words) {
  constexpr std::size_t kMost = 480;  // characters
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && text.size() + words[i].size() > kMost)
      return text + fmt::format(" and {} more", words.size() - i);
    text += (i > 0 ? ", " : "") + words[i];
  }
  return text;
}

}  // namespace steptime
