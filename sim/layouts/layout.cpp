#include "sim/layouts/layout.h"

#include "sim/config/json.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

constexpr std::array<std::string_view, kDimensions> kNames{"tensor", "context", "data", "pipeline"};

std::array<Dimension, kDimensions> read_order(const Config& section) {
  const auto text = section.get<std::string>("order");
  std::array<Dimension, kDimensions> order{};
  std::size_t count = 0;
  std::size_t from = 0;
  bool is_right = true;
  while (is_right && from <= text.size()) {
    const std::size_t end = std::min(text.find('-', from), text.size());
    const auto name = std::find(kNames.begin(), kNames.end(), text.substr(from, end - from));
    is_right = name != kNames.end() && count < kDimensions;
    if (is_right) order[count++] = static_cast<Dimension>(name - kNames.begin());
    from = end + 1;
  }
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  is_right = is_right && count == kDimensions &&
             std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  if (!is_right) {
    section.fail("order", fmt::format("{} does not name {} once each, joined by \"-\"",
                                      brief(section.raw("order")), fmt::join(kNames, ", ")));
  }
  return order;
}

}  // namespace

Layout::Layout(Coordinates degrees, std::array<Dimension, kDimensions> order)
    : degrees_(degrees), order_(order) {
  for (const Dimension d : order_) {
    strides_[static_cast<std::size_t>(d)] = ranks_;
    ranks_ *= degree(d);
  }
}

Layout Layout::without(Dimension d) const {
  Layout first = *this;
  first.ranks_ /= degree(d);
  first.degrees_[static_cast<std::size_t>(d)] = 1;
  return first;
}

std::int32_t Layout::rank(const Coordinates& at) const {
  return std::inner_product(at.begin(), at.end(), strides_.begin(), 0);
}

Coordinates Layout::coordinates(std::int32_t rank) const {
  Coordinates at{};
  for (std::size_t d = 0; d < kDimensions; ++d)
    at[d] = rank / strides_[d] % degrees_[d];
  return at;
}

std::vector<std::int32_t> Layout::group(std::int32_t of, std::span<const Dimension> in) const {
  // From the dimension on whose ranks are farthest apart, so that they are in order.
  std::vector<std::size_t> dimensions;
  for (const Dimension dimension : in)
    dimensions.push_back(static_cast<std::size_t>(dimension));
  std::sort(dimensions.begin(), dimensions.end(), [this](std::size_t a, std::size_t b) {
    return strides_[a] != strides_[b] ? strides_[a] > strides_[b] : degrees_[a] > degrees_[b];
  });
  const Coordinates at = coordinates(of);
  for (const std::size_t d : dimensions)
    of -= at[d] * strides_[d];
  std::vector<std::int32_t> ranks{of};
  std::vector<std::int32_t> more;
  for (const std::size_t d : dimensions) {
    if (degrees_[d] == 1) continue;
    more.clear();
    more.reserve(ranks.size() * static_cast<std::size_t>(degrees_[d]));
    for (const std::int32_t rank : ranks) {
      for (std::int32_t place = 0; place < degrees_[d]; ++place)
        more.push_back(rank + place * strides_[d]);
    }
    ranks.swap(more);
  }
  return ranks;
}

const Params& layout_params() {
  static const Params params{
      {.key = "tensor",
       .kind = Kind::kInteger,
       .help = "ranks that share every product of a layer",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 1e6}},
      {.key = "pipeline",
       .kind = Kind::kInteger,
       .help = "ranks that share the layers",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 1e6}},
      {.key = "context",
       .kind = Kind::kInteger,
       .help = "ranks that share the tokens of a sample",
       .need = Need::kDefault,
       .fallback = 1,
       .range = {.low = 1, .high = 1e6}},
      {.key = "order",
       .kind = Kind::kText,
       .help = "which ranks are neighbours, the innermost dimension first",
       .need = Need::kDefault,
       .fallback = "tensor-context-data-pipeline"},
      {.key = "sequence_parallel",
       .kind = Kind::kBoolean,
       .help = "what stands between a layer's products is cut over tensor ranks, too",
       .need = Need::kDefault,
       .fallback = false},
      {.key = "stages",
       .kind = Kind::kAny,
       .help = "layers of each stage of the pipeline: \"even\", \"short-ends\" (one fewer on the "
               "first and on the last), or a list of numbers",
       .need = Need::kDefault,
       .fallback = "even"}};
  return params;
}

LayoutSettings read_layout(const Config& section) {
  LayoutSettings settings{.tensor = section.get<std::int64_t>("tensor"),
                          .pipeline = section.get<std::int64_t>("pipeline"),
                          .context = section.get<std::int64_t>("context"),
                          .order = read_order(section),
                          .sequence_parallel = section.get<bool>("sequence_parallel")};
  if (settings.sequence_parallel && settings.tensor == 1)
    section.fail("sequence_parallel", "unexpected, as \"tensor\" is 1");
  return settings;
}

Layout layout_of(const Config& section, const LayoutSettings& settings, std::int64_t gpus) {
  const std::int64_t model = settings.tensor * settings.context * settings.pipeline;
  if (gpus % model != 0) {
    section.fail("",
                 fmt::format("a replica takes {} x {} x {} = {} GPUs (tensor x context x "
                             "pipeline), expected a divisor of the cluster's {}",
                             settings.tensor, settings.context, settings.pipeline, model, gpus));
  }
  return {{static_cast<std::int32_t>(settings.tensor), static_cast<std::int32_t>(settings.context),
           static_cast<std::int32_t>(gpus / model), static_cast<std::int32_t>(settings.pipeline)},
          settings.order};
}

namespace {

std::vector<std::int64_t> given_stages(const Config& section, std::int64_t layers,
                                       std::int64_t stages) {
  const Json& list = section.raw("stages");
  std::vector<std::int64_t> numbers;
  std::int64_t sum = 0;
  for (const Json& number : list) {
    if (!number.is_number_integer() || number < 0 || number > layers) {
      section.fail("stages", fmt::format("found {}, expected numbers of layers from 0 to {}",
                                         brief(number), layers));
    }
    numbers.push_back(number.get<std::int64_t>());
    sum += numbers.back();
  }
  if (static_cast<std::int64_t>(numbers.size()) != stages || sum != layers) {
    section.fail("stages",
                 fmt::format("found {} stages with {} layers, expected {} stages with {} layers",
                             numbers.size(), sum, stages, layers));
  }
  return numbers;
}

}  // namespace

std::vector<std::int64_t> layers_of_stages(const Config& section, std::int64_t layers,
                                           std::int64_t stages) {
  const Json& stated = section.raw("stages");
  if (stated.is_array()) return given_stages(section, layers, stages);
  if (stated != "even" && stated != "short-ends") {
    section.fail("stages",
                 fmt::format("found {}, expected \"even\", \"short-ends\" or a list of numbers",
                             brief(stated)));
  }
  const std::int64_t missing = stated == "even" ? 0 : 2;
  if ((layers + missing) % stages != 0) {
    section.fail("stages",
                 fmt::format("{} layers{} do not divide over {} stages, expected a list of numbers "
                             "or another \"pipeline\"",
                             layers, missing == 0 ? "" : ", embedding and loss", stages));
  }
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(stages), (layers + missing) / stages);
  numbers.front() -= missing / 2;
  numbers.back() -= missing / 2;
  return numbers;
}

}  // namespace steptime
