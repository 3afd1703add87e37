#include "paceline/nn/attention/small_head_attention.h"

#include "paceline/nn/attention/head_rows.h"
#include "paceline/tensor/intra_op.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace paceline::nn {
namespace {

constexpr std::int64_t kFewestTasks = 16;  // of a backward pass, if there are keys enough

bool is_taken(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kFloat && tensor.dim() == 4 &&
         tensor.layout() == at::kStrided && tensor.numel() > 0;
}

std::int64_t count_of(std::int64_t total, std::int64_t length) {
  return (total + length - 1) / length;
}

at::Tensor with_adjacent_values(const at::Tensor& heads) {
  return heads.stride(3) == 1 ? heads : heads.contiguous();
}

/// [batch, heads, tokens, head_dim] with heads inside of tokens, as projections behind take them.
at::Tensor empty_heads(const at::Tensor& heads) {
  return at::empty({heads.size(0), heads.size(2), heads.size(1), heads.size(3)}, heads.options())
      .transpose(1, 2);
}

template <class Value>
HeadRows<Value> rows_of(const at::Tensor& heads, std::int64_t head) {
  const std::int64_t num_heads = heads.size(1);
  auto* const first = [&] {
    if constexpr (std::is_const_v<Value>) {
      return heads.const_data_ptr<float>();
    } else {
      return heads.mutable_data_ptr<float>();
    }
  }();
  return {first + head / num_heads * heads.stride(0) + head % num_heads * heads.stride(1),
          heads.stride(2)};
}

/// Query, key and value.
struct HeadInputs {
  HeadInputs(const at::Tensor& query_, const at::Tensor& key_, const at::Tensor& value_)
      : query(with_adjacent_values(query_)),
        key(with_adjacent_values(key_)),
        value(with_adjacent_values(value_)) {}

  std::int64_t num_heads() const { return query.size(0) * query.size(1); }  ///< of all samples
  AttentionHead head(std::int64_t index) const {
    return {.query = rows_of<const float>(query, index),
            .key = rows_of<const float>(key, index),
            .value = rows_of<const float>(value, index),
            .num_queries = query.size(2),
            .num_keys = key.size(2),
            .head_dim = query.size(3),
            .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(query.size(3))))};
  }

  at::Tensor query;
  at::Tensor key;
  at::Tensor value;
};

/// Keys that one task of a backward pass takes, by the sizes alone so that sums are the same for
/// any number of threads: all of them where there are heads enough.
std::int64_t keys_of_task(std::int64_t num_heads, std::int64_t num_keys) {
  const std::int64_t tasks_of_head = count_of(kFewestTasks, num_heads);
  return count_of(count_of(num_keys, tasks_of_head), kKeysAtOnce) * kKeysAtOnce;
}

}  // namespace

bool has_small_head_attention(const at::Tensor& query, const at::Tensor& key,
                              const at::Tensor& value) {
  if (!is_taken(query) || !is_taken(key) || !is_taken(value)) return false;
  const std::int64_t head_dim = query.size(3);
  return head_dim % 16 == 0 && head_dim <= 64 && key.sizes() == value.sizes() &&
         key.size(3) == head_dim && key.size(0) == query.size(0) && key.size(1) == query.size(1);
}

std::tuple<at::Tensor, at::Tensor> small_head_attention(const at::Tensor& query,
                                                        const at::Tensor& key,
                                                        const at::Tensor& value) {
  const at::NoGradGuard no_grad;
  const HeadInputs inputs(query, key, value);
  const std::int64_t num_queries = query.size(2);
  const std::int64_t tasks_of_head = count_of(num_queries, kQueriesAtOnce);
  at::Tensor mixed = empty_heads(query);
  at::Tensor log_sum_exp = at::empty({query.size(0), query.size(1), num_queries}, query.options());
  auto* const sums = log_sum_exp.mutable_data_ptr<float>();
  tensor::run_intra_op(inputs.num_heads() * tasks_of_head, [&](std::int64_t task) {
    const std::int64_t head = task / tasks_of_head;
    attend_head(inputs.head(head), task % tasks_of_head * kQueriesAtOnce,
                rows_of<float>(mixed, head), sums + head * num_queries);
  });
  return {mixed, log_sum_exp};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> small_head_attention_backward(
    const at::Tensor& grad, const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
    const at::Tensor& mixed, const at::Tensor& log_sum_exp) {
  const at::NoGradGuard no_grad;
  const HeadInputs inputs(query, key, value);
  const at::Tensor of_mixed = with_adjacent_values(grad);
  const std::int64_t num_keys = key.size(2);
  const std::int64_t length = keys_of_task(inputs.num_heads(), num_keys);
  // Each task of a head has its own sums for the queries.
  std::vector<at::Tensor> of_query;
  for (std::int64_t first = 0; first < num_keys; first += length)
    of_query.push_back(empty_heads(query));
  at::Tensor of_key = empty_heads(key);
  at::Tensor of_value = empty_heads(value);
  const auto tasks_of_head = static_cast<std::int64_t>(of_query.size());
  const auto* const sums = log_sum_exp.const_data_ptr<float>();
  tensor::run_intra_op(inputs.num_heads() * tasks_of_head, [&](std::int64_t task) {
    const std::int64_t head = task / tasks_of_head;
    const std::int64_t part = task % tasks_of_head;
    head_gradients(inputs.head(head),
                   {.grad = rows_of<const float>(of_mixed, head),
                    .mixed = rows_of<const float>(mixed, head),
                    .log_sum_exp = sums + head * query.size(2)},
                   part * length, std::min(num_keys, (part + 1) * length),
                   {.query = rows_of<float>(of_query[static_cast<std::size_t>(part)], head),
                    .key = rows_of<float>(of_key, head),
                    .value = rows_of<float>(of_value, head)});
  });
  for (std::size_t part = 1; part < of_query.size(); ++part) of_query[0].add_(of_query[part]);
  return {of_query[0], of_key, of_value};
}

}  // namespace paceline::nn
