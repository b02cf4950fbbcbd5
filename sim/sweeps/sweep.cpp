#include "sim/sweeps/sweep.h"

#include "sim/core/error.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/keys.h"
#include "sim/experiment/overrides.h"
#include "sim/experiment/read_experiment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

constexpr std::int64_t kMostPoints = 1'000'000'000;

[[noreturn]] void refuse(const Document& document, const std::string& pointer,
                         const std::string& message) {
  throw InputError(
      fmt::format("{}: {}: {}", document.file, join_pointer("/sweep", pointer), message));
}

void check_pointer(const Document& document, const std::string& pointer) {
  const bool known = std::any_of(std::begin(kParts), std::end(kParts),
                                 [&](Part part) { return depends_on(part, pointer); });
  if (pointer.empty() || !known) {
    refuse(document, pointer,
           "expected a JSON pointer into /workload, /cluster, /strategy, /run or /jobs");
  }
  Json scratch = document.root;
  if (place_in_experiment(scratch, pointer) == nullptr) {
    refuse(document, pointer, no_place(pointer));
  }
}

}  // namespace

Sweep::Sweep(std::shared_ptr<const Document> document) : document_(std::move(document)) {
  const Config config(document_, experiment_params());
  if (!config.has("sweep")) return;
  const Json& sweep = config.raw("sweep");
  if (!sweep.is_object()) {
    config.fail("sweep", fmt::format("expected an object, got {}", brief(sweep)));
  }
  std::optional<std::size_t> zip;
  for (const auto& [pointer, value] : sweep.items()) {
    for (const std::string& other : pointers()) {
      if (overlap(pointer, other)) {
        refuse(*document_, pointer, fmt::format("overlaps \"{}\"", other));
      }
    }
    const bool zipped = value.is_object() && value.contains("zip");
    if (zipped && value.size() > 1) refuse(*document_, pointer, "\"zip\" stands alone");
    check_pointer(*document_, pointer);
    const std::vector<SweptValue> values =
        swept_values(*document_, pointer, zipped ? value.at("zip") : value);
    const bool only_takes_out =
        std::ranges::all_of(values, [](const SweptValue& each) { return each.value.is_null(); });
    if (only_takes_out && !is_stated(document_->root, pointer)) {
      refuse(*document_, pointer, "null removes a value, and this is none of the config's own");
    }
    if (zipped && zip) {
      Axis& axis = axes_[*zip];
      if (axis.values.size() != values.size()) {
        refuse(*document_, pointer,
               fmt::format("{} values, but \"{}\" has {}", values.size(), axis.pointers.front(),
                           axis.values.size()));
      }
      for (std::size_t i = 0; i < values.size(); ++i)
        axis.values[i].push_back(values[i]);
      axis.pointers.push_back(pointer);
      continue;
    }
    if (zipped) zip = axes_.size();
    Axis axis{.pointers = {pointer}};
    for (const SweptValue& each : values)
      axis.values.push_back({each});
    if (static_cast<std::int64_t>(values.size()) > kMostPoints / points_) {
      config.fail("sweep", fmt::format("more than {} points", kMostPoints));
    }
    points_ *= static_cast<std::int64_t>(values.size());
    axes_.push_back(std::move(axis));
  }
  for (Axis& axis : axes_) {
    for (const auto& values : axis.values) {
      std::string text;
      for (std::size_t k = 0; k < values.size(); ++k) {
        text += fmt::format("{}{}:{}", k == 0 ? "" : ",", Json(axis.pointers[k]).dump(),
                            values[k].shown().dump());
      }
      axis.texts.push_back(std::move(text));
    }
  }
}

void Sweep::append_params(std::string& text, std::int64_t point) const {
  auto stride = points_;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const auto size = static_cast<std::int64_t>(axes_[a].texts.size());
    stride /= size;
    if (a > 0) text += ',';
    text += axes_[a].texts[static_cast<std::size_t>(point / stride % size)];
  }
}

std::vector<std::string> Sweep::pointers() const {
  std::vector<std::string> all;
  for (const Axis& axis : axes_)
    all.insert(all.end(), axis.pointers.begin(), axis.pointers.end());
  return all;
}

void Sweep::find(std::int64_t point, std::vector<std::size_t>& places) const {
  places.resize(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const auto size = static_cast<std::int64_t>(axes_[a].values.size());
    places[a] = static_cast<std::size_t>(point % size);
    point /= size;
  }
}

std::vector<SweptValue> Sweep::values(std::int64_t point) const {
  std::vector<SweptValue> all;
  std::vector<std::size_t> at;
  find(point, at);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const auto& values = axes_[a].values[at[a]];
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::vector<Json> Sweep::params(std::int64_t point) const {
  std::vector<Json> all;
  for (const SweptValue& value : values(point))
    all.push_back(value.shown());
  return all;
}

}  // namespace steptime
