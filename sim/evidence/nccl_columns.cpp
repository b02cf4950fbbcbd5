#include "sim/evidence/nccl_columns.h"

#include "sim/evidence/benchmark_words.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace steptime {

NcclColumns::NcclColumns(std::string_view head) {
  const bool is_comment = head.starts_with('#');
  if (is_comment) head.remove_prefix(1);
  std::vector<std::string> names;
  for (const std::string_view word : words_of(head))
    names.push_back(lower(word));
  const auto has = [&](std::string_view what) {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.substr(0, name.find('(')) == what;
    });
  };
  if (names.size() < 3 || !has("time")) return;
  const std::string first = names[0].substr(0, names[0].find('('));
  if (first != "size" && first != "bytes") return;
  if (is_comment || (has("count") && has("type"))) names_ = std::move(names);
}

std::size_t NcclColumns::place(std::string_view name) const {
  return static_cast<std::size_t>(
      std::find_if(names_.begin(), names_.end(),
                   [&](const std::string& each) { return each.starts_with(name); }) -
      names_.begin());
}

bool NcclColumns::has_sum() const {
  return std::find(names_.begin(), names_.end(), "redop") != names_.end();
}

std::size_t NcclColumns::time_column(const std::vector<std::string_view>& words) const {
  const std::size_t column = place("time");
  const std::size_t sum = place("redop");
  const bool is_blank =
      sum < column && sum < words.size() && number_in<double>(words[sum]).has_value();
  return is_blank ? column - 1 : column;
}

double NcclColumns::time_unit_us() const {
  if (const double stated = time_unit(names_[place("time")]); stated > 0) return stated;
  return names_[0] == "bytes" ? 1000 : 1;
}

bool NcclColumns::looks_like_row(const std::vector<std::string_view>& words) const {
  return words.size() >= names_.size() - 1 && looks_like_number(words[0]) &&
         number_in<std::int64_t>(words[1]).has_value();
}

void NcclColumns::check_row(const TextLine& line, std::string_view said,
                            const std::vector<std::string_view>& words, std::size_t column) const {
  const std::size_t shift = place("time") - column;
  const auto number = [&](std::string_view name) -> std::optional<double> {
    const std::size_t at = place(name);
    if (at == names_.size() || at - shift >= words.size()) return std::nullopt;
    return number_in<double>(words[at - shift]);
  };
  const auto bytes = number_in<double>(words[0]);
  const auto time = number_in<double>(words[column]);
  const auto stated = number("algbw");
  const bool lacks_words = words.size() + shift < names_.size();
  if (lacks_words && bytes && time && stated && *time > 0) {
    const double computed = *bytes / (*time * time_unit_us()) * 1e-3;  // GB/s
    constexpr double kRounded = 0.02;  // GB/s: two digits are printed
    if (std::abs(computed - *stated) > 0.05 * computed + kRounded)
      line.fail("a row with a time in its column", said);
  }
  if (number("#wrong").value_or(0) > 0)
    line.fail("results that the benchmark itself found right (0 \"#wrong\")", said);
}

}  // namespace steptime
