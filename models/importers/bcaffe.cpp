// The overheads that B-Caffe, the MG-WFBP authors' Caffe, prints per blob, or the same as CSV.
//
//   I0219 13:29:33.944885 66221 distributed.cpp:112] [0, 9408, 15143.7, 1169, 1231]
// blob, count padded to 64 elements, backward us of the blob's layer, communication us, and in
// newer logs merged communication us.
// CSV: a header "blob_id,params,bwd_compute_us,comm_us[,merged_comm_us]", then a row per blob.
//
// Format: shyhuai/B-Caffe commit 1e8a70d src/caffe/distributed.cpp, print_overheads().
// Scope: blob 0 starts a run, and the last run counts. Blobs follow the learnable layers of a layer
// table in order; counts must be the table's rounded up to 64, and the blobs of a layer must agree
// on its backward time. Logged lines that are no row ("[...]") are skipped.
// Parameters: padded: the trace has the counts as they are sent, not the table's.
// Limits: only learnable layers are logged. The forward pass is not: it is taken as half of the
// backward pass, as the authors' scripts/gmwfbp.py does. Communication times are checked for form
// and left out.
#include "models/importers/profile_text.h"
#include "sim/core/error.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace steptime {
namespace {

const Params kParams{{.key = "padded",
                      .kind = Kind::kBoolean,
                      .help = "counts as sent, padded to 64 elements, not the layer table's",
                      .need = Need::kDefault,
                      .fallback = false}};
constexpr std::string_view kHeader = "blob_id,params,bwd_compute_us,comm_us";
constexpr std::string_view kMergedHeader = "blob_id,params,bwd_compute_us,comm_us,merged_comm_us";
constexpr std::int64_t kPad = 64;

std::int64_t padded_count(std::int64_t params) {
  return (params + kPad - 1) / kPad * kPad;
}

struct Blob {
  ProfileLine line;
  std::int64_t count;
  Duration backward;
};
using Blobs = std::vector<Blob>;

/// Appends the blob of `row`; blob 0 starts a new run.
void add_blob(Blobs& run, const ProfileLine& line, std::string_view row, std::size_t columns) {
  const std::vector<std::string> fields = line.fields(row, columns);
  const std::int64_t id = line.integer(fields[0], "a blob number");
  if (id == 0) run.clear();
  if (id != static_cast<std::int64_t>(run.size())) {
    line.fail(run.empty() ? "blob 0" : fmt::format("blob {} or 0", run.size()), fields[0]);
  }
  for (std::size_t i = 3; i < columns; ++i)
    line.time(fields[i], "us");
  run.push_back({line, line.integer(fields[1], "a count"), line.time(fields[2], "us")});
}

Blobs read_csv(const std::vector<ProfileLine>& lines, std::size_t columns) {
  Blobs run;
  for (std::size_t i = 1; i < lines.size(); ++i)
    add_blob(run, lines[i], lines[i].text(), columns);
  return run;
}

Blobs read_log(const std::vector<ProfileLine>& lines) {
  Blobs run;
  for (const ProfileLine& line : lines) {
    const std::string_view row = line.message();
    if (line.is_logged() && !row.starts_with('[')) continue;
    const auto commas = std::count(row.begin(), row.end(), ',');
    if (!row.starts_with('[') || !row.ends_with(']') || (commas != 3 && commas != 4)) {
      line.fail("\"[blob, count, backward us, communication us]\", perhaps with merged us", row);
    }
    add_blob(run, line, row.substr(1, row.size() - 2), static_cast<std::size_t>(commas) + 1);
  }
  return run;
}

Blobs read_run(const std::vector<ProfileLine>& lines) {
  if (lines.front().text() == kHeader) return read_csv(lines, 4);
  if (lines.front().text() == kMergedHeader) return read_csv(lines, 5);
  return read_log(lines);
}

/// Checks the blobs of `layer`, which start at `blob`, against it; fills in its backward time and,
/// if `padded`, its counts.
void fill_layer(Layer& layer, Blobs::const_iterator blob, bool padded) {
  layer.backward = blob->backward;
  for (Tensor& tensor : layer.tensors) {
    const std::int64_t count = padded_count(tensor.params);
    if (blob->count != count) {
      blob->line.fail(fmt::format("the count {} of {}", count, tensor.name),
                      std::to_string(blob->count));
    }
    if (blob->backward != layer.backward) {
      blob->line.fail(fmt::format("one backward time for all blobs of {}", layer.name),
                      blob->line.message());
    }
    if (padded) tensor.params = count;
    ++blob;
  }
}

class BCaffe final : public Importer {
 public:
  explicit BCaffe(const Config& c) : padded_(c.get<bool>("padded")) {}

  Imported import(const ImportRequest& request) const override {
    const std::vector<ProfileLine> lines = profile_lines(request);
    const Blobs run = read_run(lines);
    LearnableLayers learnable = learnable_layers(request, "B-Caffe names no layers");
    Trace trace = empty_trace(request, note(learnable.table));
    trace.layers = std::move(learnable.layers);
    std::size_t tensors = 0;
    for (const Layer& layer : trace.layers)
      tensors += layer.tensors.size();
    if (run.size() != tensors) {
      throw InputError(fmt::format("{}: expected the {} blobs of {} in the last run, got {}",
                                   request.file, tensors, learnable.table, run.size()));
    }
    auto blob = run.begin();
    for (Layer& layer : trace.layers) {
      fill_layer(layer, blob, padded_);
      blob += static_cast<std::ptrdiff_t>(layer.tensors.size());
    }
    check_imported(trace, request.file);
    trace.forward_total = trace.backward() / 2;
    return {.trace = std::move(trace)};
  }

 private:
  std::string note(const std::string& layer_table) const {
    return fmt::format(
        "Layers: layer table {}; {}. The forward pass is not in the log: half of the backward "
        "pass, as in the authors' scripts/gmwfbp.py.",
        layer_table, padded_ ? "counts as sent, padded to 64 elements" : "counts without padding");
  }

  bool padded_;
};

const bool kRegistered = Importers::instance().add(
    "bcaffe", "overheads per blob that B-Caffe prints, or the same as CSV", kParams,
    [](const Config& c) { return std::make_unique<BCaffe>(c); });

}  // namespace
}  // namespace steptime
