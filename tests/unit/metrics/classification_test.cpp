#include "paceline/metrics/classification.h"

#include "paceline/base/error.h"

#include <array>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace paceline::metrics {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct TopKCounts {
  double top1 = 0;
  double top5 = 0;
};

/// Counts on the fast path and on the general one, which must agree.
TopKCounts count_both_ways(const at::Tensor& logits, const at::Tensor& labels) {
  const at::Tensor fast = count_top_k(logits, labels);
  EXPECT_TRUE(fast.equal(count_top_k(logits.to(at::kDouble), labels)));
  return {fast[0].item<double>(), fast[1].item<double>()};
}

TEST(CountTopK, AgreesWithSorting) {
  at::manual_seed(7);
  const at::Tensor logits = at::randn({64, 20});
  const at::Tensor labels = at::randint(20, {64}, at::kLong);
  const at::Tensor order = logits.argsort(/*dim=*/1, /*descending=*/true);
  const at::Tensor hits = order.eq(labels.unsqueeze(1));
  const TopKCounts counts = count_both_ways(logits, labels);
  EXPECT_EQ(counts.top1, hits.slice(1, 0, 1).sum().item<double>());
  EXPECT_EQ(counts.top5, hits.slice(1, 0, 5).sum().item<double>());
  EXPECT_GT(counts.top5, counts.top1);
}

TEST(CountTopK, CountsForAnyK) {
  at::manual_seed(8);
  const at::Tensor logits = at::randn({64, 9});
  const at::Tensor labels = at::randint(9, {64}, at::kLong);
  constexpr std::array<std::int64_t, 3> kKs{3, 1, 40};
  const at::Tensor counts = count_top_k(logits, labels, kKs);
  EXPECT_TRUE(counts.equal(count_top_k(logits.to(at::kDouble), labels, kKs)));
  const at::Tensor hits = logits.argsort(1, true).eq(labels.unsqueeze(1));
  EXPECT_EQ(counts[0].item<double>(), hits.slice(1, 0, 3).sum().item<double>());
  EXPECT_EQ(counts[1].item<double>(), count_top_k(logits, labels)[0].item<double>());
  EXPECT_EQ(counts[2].item<double>(), 64) << "all of them, when there are fewer classes";
}

TEST(CountTopK, ConstantOutputScoresByChance) {
  const at::Tensor labels = at::arange(10, at::kLong);
  const TopKCounts counts = count_both_ways(at::zeros({10, 10}), labels);
  EXPECT_EQ(counts.top1, 1);
  EXPECT_EQ(counts.top5, 5);
}

TEST(CountTopK, NotANumberIsNeverRight) {
  const at::Tensor logits = at::tensor({kNan, 1.0f, 2.0f, 3.0f, kNan, 9.0f}).view({2, 3});
  const TopKCounts counts = count_both_ways(logits, at::tensor({0, 2}, at::kLong));
  EXPECT_EQ(counts.top1, 0);  // in the second row the NaN beats the 9
  EXPECT_EQ(counts.top5, 1);
  EXPECT_EQ(count_both_ways(at::full({4, 8}, kNan), at::arange(4, at::kLong)).top5, 0);
}

TEST(CountTopK, PaddingIsNotCounted) {
  const at::Tensor logits = at::eye(3);
  const TopKCounts counts = count_both_ways(logits, at::tensor({0, -1, 1}, at::kLong));
  EXPECT_EQ(counts.top1, 1);
  EXPECT_EQ(counts.top5, 2) << "of two labels";
}

TEST(CountTopK, FewClasses) {
  const at::Tensor logits = at::tensor({1.0f, 2.0f, 2.0f, 1.0f}).view({2, 2});
  const TopKCounts counts = count_both_ways(logits, at::tensor({0, 0}, at::kLong));
  EXPECT_EQ(counts.top1, 1);
  EXPECT_EQ(counts.top5, 2);
}

TEST(CountTopK, RefusesALabelOutOfRange) {
  EXPECT_THROW(count_top_k(at::zeros({1, 3}), at::tensor({3}, at::kLong)), base::InternalError);
}

}  // namespace
}  // namespace paceline::metrics
