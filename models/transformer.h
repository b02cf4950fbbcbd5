// Shapes of transformers: models/transformers/NAME.json, from which parameters, operations and
// memory follow for any sequence, batch and layout.
//
// Scope: decoders with learned or rotary positions, with as many heads of keys and values as of
// queries or fewer. No experts.
// Source: each file's "source". Counts: Narayanan et al., 2104.04473 equation 2 and Megatron-LM
// theoretical_memory_usage.py.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace steptime {

struct TransformerShape {
  std::string name;
  std::int64_t layers = 1;      ///< L
  std::int64_t hidden = 1;      ///< h
  std::int64_t heads = 1;       ///< a, of queries
  std::int64_t kv_heads = 1;    ///< k, of keys and of values
  std::int64_t head_dim = 1;    ///< e
  std::int64_t ffn = 1;         ///< f
  bool is_gated = false;        ///< the first product of the MLP is two, one of which is a gate
  std::int64_t vocabulary = 1;  ///< V
  bool is_tied = false;         ///< the logits' weights are the token embedding's
  bool has_shifts = false;      ///< norms have a shift beside their scale: layer norm, not RMS
  bool has_biases = false;      ///< of products
  std::int64_t positions = 0;   ///< learned ones; 0: rotary
  bool has_dropout = false;

  /// Of queries, keys and values of one token.
  std::int64_t attention_width() const { return head_dim * (heads + 2 * kv_heads); }
  /// Products of the MLP that make its inner values.
  std::int64_t inner_products() const { return is_gated ? 2 : 1; }
};

/// Parameters of a part, by whether tensor ranks share them or each hold them.
struct SharedParams {
  std::int64_t split = 0;
  std::int64_t replicated = 0;
  std::int64_t all() const { return split + replicated; }
};
SharedParams layer_params(const TransformerShape& shape);
/// Of tokens and learned positions.
SharedParams embedding_params(const TransformerShape& shape);
/// The last norm, and the logits' weights where these are not the embedding's.
SharedParams head_params(const TransformerShape& shape);
std::int64_t params_of(const TransformerShape& shape);
/// Of a forward pass over one sample of so many tokens, attention over all pairs of them.
std::int64_t multiply_accumulates(const TransformerShape& shape, std::int64_t sequence);

/// Reads and checks a shape. Throws InputError.
TransformerShape read_transformer(const std::string& path);
TransformerShape parse_transformer(const std::string& text, const std::string& file);
/// The file of a shipped shape; "" when there is none.
std::string find_transformer(const std::string& name);
/// Sorted.
std::vector<std::string> transformer_names();

}  // namespace steptime
