// Layer tables: network architectures as lists of layers with their work, sizes and learnable
// tensors, one JSON file each under models/<family>/.
//
// Scope: one sample through a fixed graph in the order of the definition; branches are flattened.
// Parameters: macs (forward multiply-accumulates per sample, without bias), input and output
// (activation values per sample), keeps (of its input what is kept for its backward pass, where its
// kind does not say it: 0 of what a layer before keeps), params (values per tensor). A count of a
// network on sequences of S tokens may be {"token": t, "pair": p}: t S + p S^2.
// Validation: tests/models/layer_tables.json, against the published totals.
// Source: each file's "provenance".
#pragma once
#include "sim/workload/workload.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace steptime {

enum class LayerKind {
  kActivation,
  kAdd,
  kBatchNorm,
  kConcat,
  kConvolution,
  kDepthwiseConvolution,
  kDropout,
  kEmbedding,
  kFullyConnected,
  kLayerNorm,
  kLrn,
  kMatrixProduct,  ///< a product of two activations, or with a weight that is another layer's
  kPooling,
  kSoftmax
};

struct TableLayer {
  std::string name;
  LayerKind kind{};
  std::int64_t macs = 0;    ///< forward, per sample; 0 for a layer that multiplies no weights
  std::int64_t input = 0;   ///< values per sample, all inputs together
  std::int64_t output = 0;  ///< values per sample
  std::vector<Tensor> tensors{};
  /// Values per sample of its inputs that are kept for its backward pass, and by no layer before;
  /// none: what its kind says, see models/memory.cpp.
  std::optional<std::int64_t> keeps{};

  /// Of a layer with macs: the weights without bias.
  std::int64_t weights() const;
};

struct LayerTable {
  std::string name;  ///< family/model
  std::vector<std::string> aliases;
  std::int64_t input = 0;           ///< values per sample that enter the first layer
  std::int64_t input_channels = 1;  ///< channels of an image that enters: its colours
  /// Samples are sequences of tokens, whose length counts may grow with.
  bool has_sequences = false;
  Json provenance;
  std::vector<TableLayer> layers;  ///< in forward order
};

/// How many layers from this one on are an attention: scores, softmax, perhaps dropout, context; 0:
/// it does not begin here.
std::size_t attention_at(const LayerTable& table, std::size_t first);
/// Values per sample that a fused attention of these layers reads and writes: queries, keys, values
/// and the result.
double attention_values(const LayerTable& table, std::size_t first, std::size_t parts);

/// What one kernel for a batch norm does of the layers after it: of an activation, of an addition,
/// or of an addition and the activation after it.
struct AfterNorm {
  std::size_t layers = 0;
  std::int64_t added = 0;  ///< values per sample of what is added to its result
};
AfterNorm after_norm_at(const LayerTable& table, std::size_t norm);

/// Reads and checks a table. `sequence`: tokens of a sample, where the table has counts per token;
/// none: the usual number. Throws InputError,
/// and std::out_of_range for a length that the network does not take.
LayerTable read_layer_table(const std::string& path, std::optional<std::int64_t> sequence = {});
LayerTable parse_layer_table(const std::string& text, const std::string& file,
                             std::optional<std::int64_t> sequence = {});

/// The file of a shipped model, by full name ("caffe/googlenet") or alias ("resnet50"); "" when
/// there is none.
std::string find_layer_table(const std::string& model);
/// Full names and aliases of the shipped models, sorted.
std::vector<std::string> layer_table_names();

/// The JSON files in a folder, sorted. Throws InputError when it cannot be read.
std::vector<std::filesystem::path> json_files(const std::filesystem::path& folder);

}  // namespace steptime
