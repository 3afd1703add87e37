// attend_head() in vector code, compiled for several instruction sets by Highway; the best one that
// the processor has is chosen at run time.
//
// Blocks stay in the nearest caches and maxima are corrected on the way, after Dao et al., 2022.
// Lanes are queries: maxima and sums over keys need nothing across lanes, and the weights come out
// of one product as the next takes them.
#include "paceline/nn/attention/head_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#undef HWY_BASELINE_TARGETS
#define HWY_BASELINE_TARGETS HWY_AVX2  // the floor of all of paceline
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "paceline/nn/attention/attend_head_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// After foreach_target.h, which it depends on.
#include "paceline/nn/attention/head_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace paceline::nn {
namespace HWY_NAMESPACE {

/// Keys and values, rows without gaps.
template <Index kDim>
struct KeyBlock {
  Index count;
  alignas(64) float key[kBlock * kDim];
  alignas(64) float value[kBlock * kDim];
};

/// Queries in lanes, and what they have found so far.
template <Index kDim>
struct QueryGroup {
  Index count;
  alignas(64) float query[kDim * kGroup];  // times the scale and log2(e), for powers of two
  alignas(64) float mixed[kDim * kGroup];  // weights relative to `top`
  alignas(64) float top[kGroup];           // the largest score
  alignas(64) float sum[kGroup];           // of weights
};

template <Index kDim>
void begin(const AttentionHead& head, Index first, QueryGroup<kDim>& group) {
  group.count = std::min<Index>(kGroup, head.num_queries - first);
  to_lanes<kDim>(head.query, first, group.count, head.scale * kLog2E, group.query);
  std::fill_n(group.mixed, kDim * kGroup, 0.0f);
  std::fill_n(group.top, kGroup, -std::numeric_limits<float>::infinity());
  std::fill_n(group.sum, kGroup, 0.0f);
}

/// Turns scores into weights and adds them to `sum`, which is brought from the top before to `top`
/// first. Gives the factors that do that.
template <Index kCols>
HWY_INLINE void weigh(Index rows, const HeadVector* top, float* scores, float* top_before,
                      float* sum, HeadVector* decay) {
  HeadVector sums[kCols];
#pragma GCC unroll 16
  for (Index c = 0; c < kCols; ++c) {
    decay[c] = power_of_two(hn::Sub(load(top_before + c * kLanes), top[c]));
    store(top[c], top_before + c * kLanes);
    sums[c] = hn::Mul(load(sum + c * kLanes), decay[c]);
  }
  for (Index row = 0; row < rows; ++row, scores += kGroup) {
#pragma GCC unroll 16
    for (Index c = 0; c < kCols; ++c) {
      const HeadVector weight = power_of_two(hn::Sub(load(scores + c * kLanes), top[c]));
      store(weight, scores + c * kLanes);
      sums[c] = hn::Add(sums[c], weight);
    }
  }
#pragma GCC unroll 16
  for (Index c = 0; c < kCols; ++c) store(sums[c], sum + c * kLanes);
}

template <Index kDim, Index kCols>
void attend_block(const KeyBlock<kDim>& block, Index column, QueryGroup<kDim>& group) {
  alignas(64) float scores[kBlock * kGroup];
  HeadVector top[kCols];
  HeadVector decay[kCols];
#pragma GCC unroll 16
  for (Index c = 0; c < kCols; ++c) top[c] = load(group.top + column + c * kLanes);
  product<kCols, kGroup>(
      LeftSteps<kDim, 1>(), block.key, group.query + column, block.count, kDim,
      [](Index, Index) HWY_ATTR { return all(0.0f); },
      [&](Index row, Index c, HeadVector score) HWY_ATTR {
        store(score, scores + row * kGroup + c * kLanes);
        top[c] = hn::Max(top[c], score);
      });
  weigh<kCols>(block.count, top, scores, group.top + column, group.sum + column, decay);
  float* const mixed = group.mixed + column;
  product<kCols, kGroup>(
      LeftSteps<1, kDim>(), block.value, scores, kDim, block.count,
      [&](Index row, Index c)
          HWY_ATTR { return hn::Mul(load(mixed + row * kGroup + c * kLanes), decay[c]); },
      [&](Index row, Index c, HeadVector sum)
          HWY_ATTR { store(sum, mixed + row * kGroup + c * kLanes); });
}

template <Index kDim>
void end(QueryGroup<kDim>& group, Index first, const HeadRows<float>& mixed, float* log_sum_exp) {
  for (Index lane = 0; lane < kGroup; lane += kLanes) {
    const HeadVector inverse = hn::Div(all(1.0f), load(group.sum + lane));
    for (Index i = 0; i < kDim; ++i) {
      float* const place = group.mixed + i * kGroup + lane;
      store(hn::Mul(load(place), inverse), place);
    }
  }
  from_lanes<kDim>(group.mixed, first, group.count, 1.0f, mixed);
  for (Index lane = 0; lane < group.count; ++lane)
    log_sum_exp[first + lane] = group.top[lane] * kLn2 + std::log(group.sum[lane]);
}

template <Index kDim>
void attend(const AttentionHead& head, Index first, const HeadRows<float>& mixed,
            float* log_sum_exp) {
  std::array<QueryGroup<kDim>, kQueriesAtOnce / kGroup> groups;
  KeyBlock<kDim> block;
  const Index queries = std::min<Index>(kQueriesAtOnce, head.num_queries - first);
  const Index num_groups = (queries + kGroup - 1) / kGroup;
  for (Index i = 0; i < num_groups; ++i) begin(head, first + i * kGroup, groups[i]);
  for (Index key = 0; key < head.num_keys; key += kBlock) {
    block.count = std::min<Index>(kBlock, head.num_keys - key);
    to_block<kDim>(head.key, key, block.count, block.key);
    to_block<kDim>(head.value, key, block.count, block.value);
    for (Index i = 0; i < num_groups; ++i)
      for_columns(groups[i].count, [&]<Index kCols>(Index column) {
        attend_block<kDim, kCols>(block, column, groups[i]);
      });
  }
  for (Index i = 0; i < num_groups; ++i) end(groups[i], first + i * kGroup, mixed, log_sum_exp);
}

void attend_head_vectorised(const AttentionHead& head, std::int64_t first,
                            const HeadRows<float>& mixed, float* log_sum_exp) {
  with_head_dim(head.head_dim,
                [&]<Index kDim>() { attend<kDim>(head, first, mixed, log_sum_exp); });
}

}  // namespace HWY_NAMESPACE
}  // namespace paceline::nn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace paceline::nn {

HWY_EXPORT(attend_head_vectorised);

void attend_head(const AttentionHead& head, std::int64_t first, const HeadRows<float>& mixed,
                 float* log_sum_exp) {
  HWY_DYNAMIC_DISPATCH(attend_head_vectorised)(head, first, mixed, log_sum_exp);
}

}  // namespace paceline::nn
#endif
