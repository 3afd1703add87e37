// head_gradients() in vector code, as attend_head_simd.cpp, but lanes are keys: both products for
// keys and values and both for weights then take and give blocks as they are, and only that for
// queries goes through values one by one.
#include "paceline/nn/attention/head_rows.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/nn/attention/head_gradients_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/nn/attention/head_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::nn {
namespace HWY_NAMESPACE {

/// Queries, rows without gaps.
template <Index kDim>
struct QueryBlock {
  Index count;
  alignas(64) float query[kBlock * kDim];
  alignas(64) float grad[kBlock * kDim];
  alignas(64) float grad_query[kBlock * kDim];
  float log_sum[kBlock];  // of powers of two, negative
  float delta[kBlock];    // grad times what the forward pass gave, summed, negative
};

/// Keys and values in lanes, and the sums of their gradients so far.
template <Index kDim>
struct KeyGroup {
  Index count;
  alignas(64) float rows[kGroup * kDim];  // keys, not in lanes
  alignas(64) float key[kDim * kGroup];   // times the scale and log2(e), for powers of two
  alignas(64) float value[kDim * kGroup];
  alignas(64) float grad_key[kDim * kGroup];
  alignas(64) float grad_value[kDim * kGroup];
};

template <Index kDim>
void begin(const AttentionHead& head, Index first, Index count, KeyGroup<kDim>& group) {
  group.count = count;
  to_block<kDim>(head.key, first, count, group.rows);
  to_lanes<kDim>(head.key, first, count, head.scale * kLog2E, group.key);
  to_lanes<kDim>(head.value, first, count, 1.0f, group.value);
  std::fill_n(group.grad_key, kDim * kGroup, 0.0f);
  std::fill_n(group.grad_value, kDim * kGroup, 0.0f);
}

template <Index kDim>
void begin(const AttentionHead& head, const MixedGradient& from, Index first,
           QueryBlock<kDim>& block) {
  block.count = std::min<Index>(kBlock, head.num_queries - first);
  to_block<kDim>(head.query, first, block.count, block.query);
  to_block<kDim>(from.grad, first, block.count, block.grad);
  std::fill_n(block.grad_query, kBlock * kDim, 0.0f);
  for (Index row = 0; row < block.count; ++row) {
    const float* const grad = block.grad + row * kDim;
    const float* const mixed = from.mixed.at(first + row);
    HeadVector delta = all(0.0f);
    for (Index i = 0; i < kDim; i += kLanes)
      delta = hn::NegMulAdd(load(grad + i), load(mixed + i), delta);
    block.delta[row] = hn::GetLane(hn::SumOfLanes(HeadTag(), delta));
    block.log_sum[row] = -kLog2E * from.log_sum_exp[first + row];
  }
}

/// For product(): goes on with the sums of a group, and keeps them there.
struct GroupSums {
  float* sums;

  HWY_INLINE HeadVector operator()(Index row, Index c) const {
    return load(sums + row * kGroup + c * kLanes);
  }
  HWY_INLINE void operator()(Index row, Index c, HeadVector sum) const {
    store(sum, sums + row * kGroup + c * kLanes);
  }
};

/// Adds what `count` keys, whose gradients of scores are given, give queries.
template <Index kDim>
void add_to_queries(const float* grad_scores, const float* keys, Index count,
                    QueryBlock<kDim>& block) {
  constexpr Index kVectors = kDim / kLanes;
  constexpr Index kCols = kVectors % kWide == 0 ? kWide : kVectors % 2 == 0 ? 2 : 1;
  for (Index i = 0; i < kDim; i += kCols * kLanes) {
    float* const sums = block.grad_query + i;
    product<kCols, kDim>(
        LeftSteps<kGroup, 1>(), grad_scores, keys + i, block.count, count,
        [&](Index row, Index c) HWY_ATTR { return load(sums + row * kDim + c * kLanes); },
        [&](Index row, Index c, HeadVector sum)
            HWY_ATTR { store(sum, sums + row * kDim + c * kLanes); });
  }
}

template <Index kDim, Index kCols>
void add_gradients(QueryBlock<kDim>& block, Index column, KeyGroup<kDim>& group) {
  alignas(64) float weights[kBlock * kGroup];
  const GroupSums grad_key{group.grad_key + column};
  const GroupSums grad_value{group.grad_value + column};
  product<kCols, kGroup>(
      LeftSteps<kDim, 1>(), block.query, group.key + column, block.count, kDim,
      [&](Index row, Index) HWY_ATTR { return all(block.log_sum[row]); },
      [&](Index row, Index c, HeadVector score)
          HWY_ATTR { store(power_of_two(score), weights + row * kGroup + c * kLanes); });
  product<kCols, kGroup>(LeftSteps<1, kDim>(), block.grad, weights, kDim, block.count, grad_value,
                         grad_value);
  // Weights become gradients of scores.
  product<kCols, kGroup>(
      LeftSteps<kDim, 1>(), block.grad, group.value + column, block.count, kDim,
      [&](Index row, Index) HWY_ATTR { return all(block.delta[row]); },
      [&](Index row, Index c, HeadVector sum) HWY_ATTR {
        float* const place = weights + row * kGroup + c * kLanes;
        store(hn::Mul(sum, load(place)), place);
      });
  product<kCols, kGroup>(LeftSteps<1, kDim>(), block.query, weights, kDim, block.count, grad_key,
                         grad_key);
  add_to_queries(weights, group.rows + column * kDim,
                 std::min(kCols * kLanes, group.count - column), block);
}

template <Index kDim>
void gradients_of(const AttentionHead& head, const MixedGradient& from, Index first, Index end,
                  const HeadGradients& gradients) {
  const Index num_groups = (end - first + kGroup - 1) / kGroup;
  const auto groups =
      std::make_unique_for_overwrite<KeyGroup<kDim>[]>(static_cast<std::size_t>(num_groups));
  QueryBlock<kDim> block;
  for (Index i = 0; i < num_groups; ++i) {
    const Index key = first + i * kGroup;
    begin(head, key, std::min<Index>(kGroup, end - key), groups[i]);
  }
  for (Index query = 0; query < head.num_queries; query += kBlock) {
    begin(head, from, query, block);
    for (Index i = 0; i < num_groups; ++i)
      for_columns(groups[i].count, [&]<Index kCols>(Index column) {
        add_gradients<kDim, kCols>(block, column, groups[i]);
      });
    for (Index row = 0; row < block.count; ++row)
      for (Index i = 0; i < kDim; ++i)
        gradients.query.at(query + row)[i] = block.grad_query[row * kDim + i] * head.scale;
  }
  for (Index i = 0; i < num_groups; ++i) {
    const Index key = first + i * kGroup;
    from_lanes<kDim>(groups[i].grad_key, key, groups[i].count, head.scale, gradients.key);
    from_lanes<kDim>(groups[i].grad_value, key, groups[i].count, 1.0f, gradients.value);
  }
}

void head_gradients_vectorised(const AttentionHead& head, const MixedGradient& from,
                               std::int64_t first, std::int64_t end,
                               const HeadGradients& gradients) {
  with_head_dim(head.head_dim,
                [&]<Index kDim>() { gradients_of<kDim>(head, from, first, end, gradients); });
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::nn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::nn {

HWY_EXPORT(head_gradients_vectorised);

void head_gradients(const AttentionHead& head, const MixedGradient& from, std::int64_t first,
                    std::int64_t end, const HeadGradients& gradients) {
  HWY_DYNAMIC_DISPATCH(head_gradients_vectorised)(head, from, first, end, gradients);
}

}  // namespace paceline::nn
#endif
