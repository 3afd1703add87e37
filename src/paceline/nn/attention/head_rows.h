#pragma once

#include <cstdint>

namespace paceline::nn {

/// Rows of head_dim float32 values on the CPU, one a token, that begin `step` values apart.
template <class Value>
struct HeadRows {
  Value* first;
  std::int64_t step;

  Value* at(std::int64_t row) const { return first + row * step; }
};

/// One head's inputs to attention.
struct AttentionHead {
  HeadRows<const float> query;
  HeadRows<const float> key;
  HeadRows<const float> value;
  std::int64_t num_queries;
  std::int64_t num_keys;
  std::int64_t head_dim;  ///< 16, 32, 48 or 64
  float scale;            ///< of the scores
};

/// What the forward pass left of a head, and the gradient of what it gave.
struct MixedGradient {
  HeadRows<const float> grad;
  HeadRows<const float> mixed;
  const float* log_sum_exp;  ///< of each query's scores
};

/// Where the gradients of a head's inputs go.
struct HeadGradients {
  HeadRows<float> query;
  HeadRows<float> key;
  HeadRows<float> value;
};

/// Queries that one call of attend_head() handles best.
constexpr std::int64_t kQueriesAtOnce = 192;
/// What keys of one call of head_gradients() should be a multiple of, but for a head's last ones.
constexpr std::int64_t kKeysAtOnce = 192;

/// Attention of the queries from `first` on, kQueriesAtOnce or what is left of them, to all keys.
/// Writes the rows of `mixed` and `log_sum_exp` of those queries.
void attend_head(const AttentionHead& head, std::int64_t first, const HeadRows<float>& mixed,
                 float* log_sum_exp);

/// The gradients of keys and values from `first` to `end`, and these keys' part of all queries'
/// gradients. Overwrites.
void head_gradients(const AttentionHead& head, const MixedGradient& from, std::int64_t first,
                    std::int64_t end, const HeadGradients& gradients);

}  // namespace paceline::nn
