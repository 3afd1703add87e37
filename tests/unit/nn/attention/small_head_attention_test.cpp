#include "paceline/nn/attention/small_head_attention.h"

#include "paceline/tensor/torch.h"
#include "support/data/instruction_sets.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

struct HeadSizes {
  std::int64_t batch, heads, queries, keys, head_dim;
};

/// Sizes that fill vectors, groups, blocks and tasks or not; keys of one task a head and of more.
const std::vector<HeadSizes> kHeadSizes{
    {1, 4, 64, 64, 16},  {2, 3, 197, 197, 64}, {1, 2, 5, 1, 16},  {1, 1, 1, 50, 32},
    {2, 1, 67, 131, 48}, {1, 2, 400, 700, 16}, {3, 7, 50, 50, 64}};

/// Without order, from -2 to 2.
at::Tensor head_noise(const std::vector<std::int64_t>& sizes, double phase) {
  const at::Tensor waves =
      (at::arange(c10::multiply_integers(sizes), at::kDouble) * 12.9898 + phase).sin() * 43758.5453;
  return ((waves - waves.floor()) * 4.0 - 2.0).view(sizes).to(at::kFloat);
}

/// Query, key, value and the gradient of what is mixed.
struct HeadTensors {
  at::Tensor query, key, value, grad;
};

/// As a block's projections give them: heads inside of tokens, keys beside values.
HeadTensors head_tensors(const HeadSizes& sizes) {
  const auto& [batch, heads, queries, keys, head_dim] = sizes;
  const at::Tensor both = head_noise({batch, keys, 2, heads, head_dim}, 1.7).transpose(1, 3);
  return {head_noise({batch, queries, heads, head_dim}, 0.9).transpose(1, 2), both.select(2, 0),
          both.select(2, 1), head_noise({batch, queries, heads, head_dim}, 0.3).transpose(1, 2)};
}

struct AttentionResults {
  at::Tensor mixed, log_sum_exp, of_query, of_key, of_value;
};

AttentionResults by_vector_code(const HeadTensors& from) {
  const auto [mixed, sums] = small_head_attention(from.query, from.key, from.value);
  const auto [of_query, of_key, of_value] =
      small_head_attention_backward(from.grad, from.query, from.key, from.value, mixed, sums);
  return {mixed, sums, of_query, of_key, of_value};
}

AttentionResults by_operations_in_double(const HeadTensors& from) {
  const auto leaf = [](const at::Tensor& x) {
    return x.to(at::kDouble).detach().set_requires_grad(true);
  };
  const at::Tensor query = leaf(from.query), key = leaf(from.key), value = leaf(from.value);
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(3)));
  const at::Tensor scores = at::matmul(query, key.transpose(2, 3)) * scale;
  const at::Tensor mixed = at::matmul(at::softmax(scores, -1), value);
  mixed.backward(from.grad.to(at::kDouble));
  return {mixed, at::logsumexp(scores, -1), query.grad(), key.grad(), value.grad()};
}

void expect_near(const at::Tensor& found, const at::Tensor& wanted, double tolerance) {
  ASSERT_EQ(found.sizes(), wanted.sizes());
  const double largest = std::max(0.3, wanted.abs().max().item<double>());
  const double difference = (found.to(at::kDouble) - wanted).abs().max().item<double>();
  EXPECT_LE(difference, tolerance * largest);
}

void expect_near(const AttentionResults& found, const AttentionResults& wanted, double tolerance) {
  expect_near(found.mixed, wanted.mixed, tolerance);
  expect_near(found.log_sum_exp, wanted.log_sum_exp, tolerance);
  expect_near(found.of_query, wanted.of_query, tolerance);
  expect_near(found.of_key, wanted.of_key, tolerance);
  expect_near(found.of_value, wanted.of_value, tolerance);
}

void expect_same_bits(const AttentionResults& a, const AttentionResults& b) {
  EXPECT_TRUE(a.mixed.equal(b.mixed));
  EXPECT_TRUE(a.log_sum_exp.equal(b.log_sum_exp));
  EXPECT_TRUE(a.of_query.equal(b.of_query));
  EXPECT_TRUE(a.of_key.equal(b.of_key));
  EXPECT_TRUE(a.of_value.equal(b.of_value));
}

TEST(SmallHeadAttention, GivesWhatOperationsGiveInDouble) {
  for (const HeadSizes& sizes : kHeadSizes) {
    SCOPED_TRACE(testing::Message() << sizes.queries << " queries, " << sizes.keys << " keys, "
                                    << sizes.head_dim << " values");
    const HeadTensors inputs = head_tensors(sizes);
    ASSERT_TRUE(has_small_head_attention(inputs.query, inputs.key, inputs.value));
    const AttentionResults wanted = by_operations_in_double(inputs);
    data::for_each_instruction_set([&] { expect_near(by_vector_code(inputs), wanted, 3e-6); });
  }
}

TEST(SmallHeadAttention, ResultsHaveHeadsInsideOfTokens) {
  const AttentionResults found = by_vector_code(head_tensors({2, 3, 5, 7, 16}));
  for (const at::Tensor& heads : {found.mixed, found.of_query, found.of_key, found.of_value})
    EXPECT_TRUE(heads.transpose(1, 2).is_contiguous());
  EXPECT_TRUE(found.log_sum_exp.is_contiguous());
}

TEST(SmallHeadAttention, StridesDoNotMatter) {
  const HeadTensors inputs = head_tensors({2, 3, 20, 30, 32});
  const auto turned = [](const at::Tensor& x) {
    return x.transpose(1, 3).contiguous().transpose(1, 3);
  };
  data::for_each_instruction_set([&] {
    expect_same_bits(by_vector_code({turned(inputs.query), turned(inputs.key), turned(inputs.value),
                                     turned(inputs.grad)}),
                     by_vector_code(inputs));
    const HeadTensors alike{inputs.query.contiguous(), inputs.key.contiguous(),
                            inputs.value.contiguous(), at::ones({}).expand_as(inputs.grad)};
    HeadTensors same = inputs;
    same.grad = at::ones(inputs.grad.sizes());
    expect_same_bits(by_vector_code(alike), by_vector_code(same));
  });
}

TEST(SmallHeadAttention, ScoresMayBeBeyondExponentialsRange) {
  HeadTensors inputs = head_tensors({1, 2, 70, 90, 16});
  inputs.query = inputs.query * 100.0;
  const AttentionResults wanted = by_operations_in_double(inputs);
  ASSERT_GT(wanted.log_sum_exp.max().item<double>(), 100.0);
  // A score of some hundreds has an error of some 1e-5, and so has a weight.
  data::for_each_instruction_set([&] { expect_near(by_vector_code(inputs), wanted, 3e-4); });
}

TEST(SmallHeadAttention, OneKeyIsAllThatIsMixed) {
  const HeadTensors inputs = head_tensors({1, 2, 5, 1, 16});
  data::for_each_instruction_set([&] {
    EXPECT_TRUE(by_vector_code(inputs).mixed.equal(inputs.value.expand({1, 2, 5, 16})));
  });
}

TEST(SmallHeadAttention, WhatIsNoNumberStays) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto with = [](const at::Tensor& heads, std::int64_t token) {
    at::Tensor changed = heads.clone();
    changed[0][1][token][3] = kNan;
    return changed;
  };
  const HeadTensors inputs = head_tensors({1, 2, 70, 90, 16});
  const auto all_nan = [](const at::Tensor& x) { return x.isnan().all().item<bool>(); };
  const auto has_nan = [](const at::Tensor& x) { return x.isnan().any().item<bool>(); };
  data::for_each_instruction_set([&] {
    const AttentionResults of_key =
        by_vector_code({inputs.query, with(inputs.key, 80), inputs.value, inputs.grad});
    for (const at::Tensor& x :
         {of_key.mixed, of_key.log_sum_exp, of_key.of_query, of_key.of_key, of_key.of_value}) {
      EXPECT_TRUE(all_nan(x[0][1]));
      EXPECT_FALSE(has_nan(x[0][0]));
    }
    const at::Tensor of_query =
        by_vector_code({with(inputs.query, 66), inputs.key, inputs.value, inputs.grad}).mixed[0][1];
    EXPECT_TRUE(all_nan(of_query[66]));
    EXPECT_FALSE(has_nan(of_query.slice(0, 0, 66)));
    EXPECT_FALSE(has_nan(of_query.slice(0, 67)));
  });
}

TEST(SmallHeadAttention, ThreadsDoNotChangeBits) {
  const int threads = at::get_num_threads();
  const HeadTensors inputs = head_tensors({1, 2, 400, 700, 16});
  at::set_num_threads(1);
  const AttentionResults one = by_vector_code(inputs);
  at::set_num_threads(2);
  const AttentionResults two = by_vector_code(inputs);
  at::set_num_threads(threads);
  expect_same_bits(one, two);
}

TEST(SmallHeadAttention, TakesFloatsOfSomeHeadDims) {
  const auto takes = [](const at::Tensor& heads) {
    return has_small_head_attention(heads, heads, heads);
  };
  const auto heads_of = [](std::int64_t head_dim) { return at::zeros({1, 2, 3, head_dim}); };
  for (const std::int64_t head_dim : {16, 32, 48, 64}) EXPECT_TRUE(takes(heads_of(head_dim)));
  for (const std::int64_t head_dim : {0, 8, 24, 80, 128}) EXPECT_FALSE(takes(heads_of(head_dim)));
  EXPECT_FALSE(takes(heads_of(16).to(at::kDouble)));
  EXPECT_FALSE(takes(heads_of(16).to(at::kBFloat16)));
  EXPECT_FALSE(takes(heads_of(16).to(at::kMeta)));
  EXPECT_FALSE(takes(heads_of(16)[0]));
  EXPECT_FALSE(has_small_head_attention(heads_of(16), heads_of(16), heads_of(32)));
  EXPECT_FALSE(has_small_head_attention(heads_of(16), heads_of(16).expand({4, 2, 3, 16}),
                                        heads_of(16).expand({4, 2, 3, 16})));
}

}  // namespace
}  // namespace paceline::nn
