// Execution traces of MLCommons' Chakra: ET (protobuf) or JSON, plain or gzip.
//
// Format: models/importers/chakra_nodes.h. Read as a stream, twice, in constant memory.
// Scope: the trace is one step of one rank. A device's node belongs to the operator it depends on
// first; operators from the first to the last one named "...backward..." are the backward pass,
// those before it the forward pass, those behind it other.
// Limits: converted from PyTorch, the traces have neither sequence numbers nor start times, so that
// no layer has a time of its own: the step is one layer. Its tensors are the all-reduces with a
// size; the JSON form has no sizes.
#include "models/importers/chakra_nodes.h"
#include "models/importers/kineto_records.h"
#include "models/importers/profile_text.h"
#include "sim/core/error.h"
#include "sim/workload/importer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace steptime {
namespace {

const Params kParams{};
constexpr std::size_t kMostCollectives = 1'000'000;
/// CollectiveCommType, by number.
constexpr std::array<const char*, 10> kOperations{
    "all-reduce", "reduce",     "all-gather",     "gather",         "scatter",
    "broadcast",  "all-to-all", "reduce-scatter", "reduce-scatter", "barrier"};

struct Totals {
  std::int64_t forward_us = 0;
  std::int64_t backward_us = 0;
  std::int64_t copies_us = 0;
  std::int64_t communication_us = 0;
  std::int64_t other_us = 0;
  std::int64_t without_time = 0;
};

struct Call {
  std::string operation;
  std::int64_t bytes = -1;
  std::int64_t us = 0;
};

class Chakra final : public Importer {
 public:
  bool streams() const override { return true; }

  Imported import(const ImportRequest& request) const override {
    if (!request.layer_table.empty()) {
      throw InputError(fmt::format("{}: expected no layer table, as the step is one layer, got {}",
                                   request.file, brief(request.layer_table)));
    }
    if (request.paths.size() > 1) {
      throw InputError(fmt::format("{}: expected one file, of one rank, got {}", request.file,
                                   request.paths.size()));
    }
    const OpenChakra open = [&request] {
      return request.paths.empty()
                 ? std::make_unique<ByteStream>(request.file, request.text)
                 : std::make_unique<ByteStream>(request.file, request.on_progress);
    };
    std::int64_t first_backward = INT64_MAX;
    std::int64_t last_backward = -1;
    read_chakra_nodes(open, [&](const ChakraNode& node) {
      if (!node.is_host || node.name.find("backward") == node.name.npos) return;
      first_backward = std::min(first_backward, node.id);
      last_backward = std::max(last_backward, node.id);
    });
    if (last_backward < 0) {
      throw InputError(
          fmt::format("{}: expected an operator named \"...backward...\", which tells "
                      "the passes apart, got none",
                      request.file));
    }
    Totals totals;
    std::vector<Call> calls;
    const std::string form = read_chakra_nodes(open, [&](const ChakraNode& node) {
      if (node.is_host) return;
      if (node.duration_us < 0) ++totals.without_time;
      const std::int64_t us = std::max<std::int64_t>(node.duration_us, 0);
      const std::int64_t place = node.operator_id < 0 ? node.id : node.operator_id;
      if (node.is_collective) {
        totals.communication_us += us;
        add_call(calls, node, request.file);
      } else if (node.name.starts_with("Memcpy HtoD") || node.name.starts_with("Memcpy DtoH")) {
        totals.copies_us += us;
      } else if (place < first_backward) {
        totals.forward_us += us;
      } else {
        (place <= last_backward ? totals.backward_us : totals.other_us) += us;
      }
    });
    return imported(request, form, totals, calls);
  }

 private:
  static void add_call(std::vector<Call>& calls, const ChakraNode& node, const std::string& file) {
    if (calls.size() >= kMostCollectives) {
      throw InputError(fmt::format("{}: expected at most {} collectives", file, kMostCollectives));
    }
    const auto type = static_cast<std::size_t>(node.comm_type);
    calls.push_back({node.comm_type >= 0 && type < kOperations.size() ? kOperations[type]
                                                                      : collective_name(node.name),
                     node.comm_bytes, node.duration_us});
  }

  static Duration microseconds(std::int64_t us, const std::string& file) {
    if (us > 1'000'000'000'000) {
      throw InputError(
          fmt::format("{}: expected at most 1e+06 s of compute in one step, got {:g} s", file,
                      static_cast<double>(us) * 1e-6));
    }
    return std::chrono::microseconds(us);
  }

  static Imported imported(const ImportRequest& request, const std::string& form,
                           const Totals& totals, const std::vector<Call>& calls) {
    std::vector<std::string> missing;
    missing.push_back(
        "A Chakra trace has neither sequence numbers nor start times: the step is one layer; "
        "operators from the first to the last \"backward\" are the backward pass.");
    if (totals.without_time > 0)
      missing.push_back(fmt::format("{} device nodes have no runtime.", totals.without_time));
    Layer layer{.name = "step",
                .forward = microseconds(totals.forward_us, request.file),
                .backward = microseconds(totals.backward_us, request.file)};
    Json list = Json::array();
    std::int64_t unsized = 0;
    for (const Call& call : calls) {
      Json row{{"operation", call.operation}};
      if (call.bytes >= 0) row["bytes"] = call.bytes;
      row["bytes_from"] = call.bytes >= 0 ? "trace" : "missing";
      if (call.us >= 0) row["device_s"] = static_cast<double>(call.us) / 1e6;
      list.push_back(std::move(row));
      if (call.bytes < 0) ++unsized;
    }
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {  // in forward order
      if (call->operation == "all-reduce" && call->bytes > 0) {
        layer.tensors.push_back(
            {fmt::format("step.{} all-reduced", layer.tensors.size()), (call->bytes + 3) / 4});
      }
    }
    if (unsized > 0) {
      missing.push_back(fmt::format("{} of {} collectives have no size in the trace{}.", unsized,
                                    calls.size(),
                                    form == "JSON" ? ": the JSON form has none" : ""));
    }
    missing.push_back(
        layer.tensors.empty()
            ? "No gradient has a size: a run communicates nothing."
            : fmt::format("The tensors are the {} all-reduces of the step, as values of 4 bytes.",
                          layer.tensors.size()));
    Trace trace = empty_trace(request, fmt::format("Chakra {}. {}", form, fmt::join(missing, " ")));
    trace.layers.push_back(std::move(layer));
    check_imported(trace, request.file);
    const auto seconds = [](std::int64_t us) { return static_cast<double>(us) / 1e6; };
    trace.provenance["measured"] = Json{
        {"from", "Chakra " + form},
        {"ranks", 1},
        {"steps",
         Json::array(
             {Json{{"step", "the whole trace"},
                   {"device_s", seconds(totals.forward_us + totals.backward_us + totals.copies_us +
                                        totals.communication_us + totals.other_us)},
                   {"forward_s", seconds(totals.forward_us)},
                   {"backward_s", seconds(totals.backward_us)},
                   {"copies_s", seconds(totals.copies_us)},
                   {"communication_s", seconds(totals.communication_us)},
                   {"other_s", seconds(totals.other_us)}}})},
        {"collectives", std::move(list)}};
    trace.domain = fmt::format(
        "imported device times: {:.3f} ms of copies and other work are left out; one layer, so "
        "that "
        "no gradient is ready before the end",
        seconds(totals.copies_us + totals.other_us) * 1e3);
    return {.trace = std::move(trace), .missing = std::move(missing)};
  }
};

const bool kRegistered =
    Importers::instance().add("chakra", "execution trace of Chakra, ET or JSON, of one rank",
                              kParams, [](const Config&) { return std::make_unique<Chakra>(); });

}  // namespace
}  // namespace steptime
