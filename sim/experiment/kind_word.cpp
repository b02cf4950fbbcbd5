#include "sim/experiment/kind_word.h"

#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace steptime {
namespace {

/// All words of the process.
class Words {
 public:
  static Words& all() {
    static Words words;
    return words;
  }

  std::uint32_t number(std::string_view text) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
    }
    const std::unique_lock lock(mutex_);
    return add(text);
  }
  const std::string& text(std::uint32_t number) const {
    const std::shared_lock lock(mutex_);
    return texts_[number];  // which stays where it is as others come behind it
  }

 private:
  Words() { add(""); }
  std::uint32_t add(std::string_view text) {
    if (const auto found = numbers_.find(text); found != numbers_.end()) return found->second;
    const auto number = static_cast<std::uint32_t>(texts_.size());
    numbers_.emplace(texts_.emplace_back(text), number);
    return number;
  }

  mutable std::shared_mutex mutex_;
  std::deque<std::string> texts_;
  std::map<std::string_view, std::uint32_t> numbers_;
};

}  // namespace

KindWord::KindWord(std::string_view text) : number_(Words::all().number(text)) {}
KindWord::KindWord(const std::string& text) : KindWord(std::string_view(text)) {}
KindWord::KindWord(const char* text) : KindWord(std::string_view(text)) {}

const std::string& KindWord::text() const {
  return Words::all().text(number_);
}

KindWord KindWord::joined(KindWord first, KindWord second) {
  struct Sum {
    KindWord first;
    KindWord second;
    KindWord both;
  };
  constexpr std::size_t kMostKnown = 32;
  thread_local std::vector<Sum> known;
  for (const Sum& sum : known) {
    if (sum.first == first && sum.second == second) return sum.both;
  }
  if (known.size() == kMostKnown) known.clear();
  known.push_back({first, second, first.text() + ", " + second.text()});
  return known.back().both;
}

}  // namespace steptime
