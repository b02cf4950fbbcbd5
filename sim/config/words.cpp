#include "sim/config/words.h"

#include "sim/config/json.h"
#include "sim/config/word_list.h"
#include "sim/core/error.h"

#include <algorithm>
#include <array>
#include <locale>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <boost/algorithm/string/predicate.hpp>
#include <fmt/format.h>

namespace steptime {
namespace {

/// What a word is called elsewhere, and its name here. Of several names the one counts that is
/// among those that are known at the place.
struct OtherName {
  std::string_view elsewhere;
  std::string_view here;
};
constexpr std::array kOtherNames{OtherName{"bf16", "bfloat16"},
                                 OtherName{"fp16", "float16"},
                                 OtherName{"half", "float16"},
                                 OtherName{"fp32", "float32"},
                                 OtherName{"fp64", "float64"},
                                 OtherName{"double", "float64"},
                                 OtherName{"ddp", "fixed-buckets"},
                                 OtherName{"pytorch", "fixed-buckets"},
                                 OtherName{"ddp", "nccl"},
                                 OtherName{"pytorch", "nccl"},
                                 OtherName{"horovod", "tensor-fusion"},
                                 OtherName{"horovod", "horovod-nccl"},
                                 OtherName{"byteps", "ps-lite"},
                                 OtherName{"p3", "priority"},
                                 OtherName{"bytescheduler", "priority"},
                                 OtherName{"roce", "rdma"},
                                 OtherName{"infiniband", "rdma"},
                                 OtherName{"ethernet", "tcp"},
                                 OtherName{"allreduce", "all-reduce"},
                                 OtherName{"ps", "parameter-server"},
                                 OtherName{"dist_sync", "kvstore"},
                                 OtherName{"dist_device_sync", "kvstore"},
                                 OtherName{"dist_sync", "local"},
                                 OtherName{"dist_device_sync", "device"}};

/// Empty: none of the known names is meant for sure.
std::string meant_by(const std::string& word, std::span<const std::string> known) {
  for (const OtherName& other : kOtherNames) {
    if (!boost::algorithm::iequals(other.elsewhere, word, std::locale::classic())) continue;
    const auto found = std::find(known.begin(), known.end(), other.here);
    if (found != known.end()) return *found;
  }
  return "";
}

/// The name that the word has more behind: "ring" for "ring-allreduce".
std::string begun_by(const std::string& word, std::span<const std::string> known) {
  for (const std::string& name : known) {
    if (name.size() > 2 && boost::algorithm::istarts_with(word, name + "-", std::locale::classic()))
      return name;
  }
  return "";
}

}  // namespace

std::string closest(std::string_view word, std::span<const std::string> known) {
  std::string best;
  std::size_t best_distance = 3;  // two edits at most: further away is a guess, not a typo
  for (const std::string& candidate : known) {
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t substituted = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
      }
    }
    if (row.back() < best_distance) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

std::string unknown_word(const std::string& word, std::span<const std::string> known) {
  std::string guess = meant_by(word, known);
  // Of three letters any two differ by no more than a typo or two.
  if (guess.empty() && word.size() > 3) guess = closest(word, known);
  if (guess.empty()) guess = begun_by(word, known);
  for (const std::string& each : known) {
    if (boost::algorithm::iequals(each, word, std::locale::classic())) guess = each;
  }
  const std::string question = guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess);
  constexpr std::size_t kMost = 30;
  if (known.size() <= kMost)
    return fmt::format("unknown {}{}; known: {}", brief(word), question, listed(known));
  // Of very many, those that have the word's first letters somewhere.
  const std::string start = word.substr(0, 4);
  std::vector<std::string> near;
  for (const std::string& each : known) {
    if (!start.empty() && boost::algorithm::icontains(each, start, std::locale::classic()))
      near.push_back(each);
  }
  return fmt::format("unknown {}{}; known: {}{}{} names; steptime list prints all", brief(word),
                     question, listed(near), near.empty() ? "" : " and others, ", known.size());
}

bool is_printable(const std::string& text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

void check_word(const std::string& option, const std::string& word,
                std::span<const std::string> known) {
  if (std::find(known.begin(), known.end(), word) != known.end()) return;
  throw InputError(fmt::format("{}: {}", option, unknown_word(word, known)));
}

}  // namespace steptime
