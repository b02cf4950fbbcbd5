// Shapes of transformers: the sizes of a decoder's layers, from which its work, parameters and
// activations follow for any sequence and any cut over ranks. One JSON file each under
// models/transformers/.
//
// Scope: decoders of equal layers: attention (queries in groups that share keys and values), then a
// feed-forward network of two products or, gated, three; causal masks; no experts. A layer's
// products either all have biases or none has.
// Parameters: counts [1]. Source: each file's "provenance".
// Validation: tests/models/transformer_test.cpp: published counts of parameters, and the layer
// tables of the same models.
#pragma once
#include "sim/config/config.h"
#include "sim/config/json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

enum class Norm {
  kLayer,  ///< a weight and a bias for each value
  kRms     ///< a weight
};

/// Parameters by what tensor parallelism does with them.
struct ParameterCount {
  std::int64_t split = 0;       ///< each tensor rank has its part
  std::int64_t replicated = 0;  ///< each tensor rank has all
  std::int64_t total() const { return split + replicated; }
  /// Of one rank of `tensor`, which divides `split` for the degrees that Megatron takes; where it
  /// does not, the last part is padded.
  std::int64_t of_rank(std::int64_t tensor) const {
    return (split + tensor - 1) / tensor + replicated;
  }
  friend bool operator==(const ParameterCount&, const ParameterCount&) = default;
  ParameterCount& operator+=(const ParameterCount& other);
};

struct TransformerShape {
  std::string name;
  std::vector<std::string> aliases{};
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;     ///< heads of queries
  std::int64_t kv_heads = 1;  ///< heads of keys, and as many of values
  std::int64_t head_dim = 1;  ///< values of a head
  std::int64_t ffn = 1;       ///< values between the products of the feed-forward network
  bool gated = false;         ///< the activation is multiplied by a product of its own
  std::int64_t vocabulary = 1;
  bool tied = false;  ///< the output head has the token embeddings' weights
  Norm norms = Norm::kLayer;
  bool biases = false;
  bool dropout = false;        ///< after both blocks, the embedding and the softmax
  std::int64_t positions = 0;  ///< learned ones; 0: rotary
  Json provenance{};

  /// Values per token of all heads of queries; of keys.
  std::int64_t query_width() const { return heads * head_dim; }
  std::int64_t key_width() const { return kv_heads * head_dim; }

  ParameterCount layer_parameters() const;
  ParameterCount embedding_parameters() const;  ///< tokens and learned positions
  ParameterCount final_norm_parameters() const;
  ParameterCount head_parameters() const;  ///< none where it is tied
  ParameterCount parameters() const;       ///< parameters that the whole model has
};

/// Reads and checks a shape. Throws InputError.
TransformerShape read_transformer(const std::string& path);
TransformerShape parse_transformer(const std::string& text, const std::string& file);

/// The shape with other sizes, those that an object of a config states. Throws InputError through
/// it.
TransformerShape with_sizes(TransformerShape shape, const Config& section);
/// What such an object may say.
const Params& transformer_size_params();

/// The file of a shipped shape, by name or alias; "" when there is none.
std::string find_transformer(const std::string& name);
/// Names and aliases of the shipped shapes, sorted.
std::vector<std::string> transformer_names();

}  // namespace steptime
