#include "paceline/parallel/batch_norm/global_moments.h"

#include "paceline/base/error.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::wave;

void expect_close(const at::Tensor& got, const at::Tensor& wanted) {
  EXPECT_TRUE(at::allclose(got, wanted, 1e-13, 1e-13)) << got << wanted;
}

void expect_moments_of_all(const std::vector<std::int64_t>& shares) {
  const auto total = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  const at::Tensor whole = wave({total, 4, 3, 2}, 1) * 3 + 50;
  const auto [variance, mean] = at::var_mean(whole, at::IntArrayRef{0, 2, 3}, /*correction=*/1);
  paceline::test::run_ranks(static_cast<int>(shares.size()), [&](comm::Communicator& ranks) {
    const auto own = shares.begin() + ranks.rank();
    const std::int64_t first = std::accumulate(shares.begin(), own, std::int64_t{0});
    nn::BatchNorm2d norm(4);
    norm.to(at::kDouble);
    const auto moments = global_moments(whole.narrow(0, first, *own), norm, ranks, "moments");
    ASSERT_TRUE(moments);
    expect_close(moments->mean, mean);
    expect_close(moments->unbiased_variance(), variance);
    const auto count = static_cast<double>(total * 6);
    expect_close(moments->variance(), variance * ((count - 1) / count));
    EXPECT_EQ(moments->count.item<double>(), count);
    EXPECT_EQ(norm.running_mean.sum().item<double>(), 0) << "statistics stay";
  });
}

TEST(GlobalMoments, AreThoseOfOneRankThatHasAllSamples) {
  expect_moments_of_all({7});
  expect_moments_of_all({4, 3});
  expect_moments_of_all({3, 0, 4});
}

TEST(GlobalMoments, AreNoneWithoutSamplesAndAnErrorOfOneValue) {
  paceline::test::run_ranks(2, [](comm::Communicator& ranks) {
    const nn::BatchNorm2d norm(4);
    EXPECT_FALSE(global_moments(at::zeros({0, 4, 1, 1}), norm, ranks, "moments"));
    const std::int64_t own = ranks.rank() == 0 ? 1 : 0;
    EXPECT_THAT(
        [&] {
          global_moments(at::zeros({own, 4, 1, 1}), norm, ranks, "moments");
        },
        ::testing::ThrowsMessage<base::ConfigError>(
            ::testing::HasSubstr("more than one value per channel")));
  });
}

TEST(NormaliseBy, IsBatchNormBySuchStatistics) {
  const at::Tensor input = wave({3, 4, 2, 2}, 1);
  const at::Tensor weight = wave({4}, 2);
  const at::Tensor bias = wave({4}, 3);
  const at::Tensor mean = wave({4}, 4);
  const at::Tensor variance = wave({4}, 5) + 1;
  const auto shaped = [](const at::Tensor& values) { return values.view({1, 4, 1, 1}); };
  const at::Tensor wanted =
      (input - shaped(mean)) / (shaped(variance) + 0.1).sqrt() * shaped(weight) + shaped(bias);
  expect_close(normalise_by(input, weight, bias, mean, variance, 0.1), wanted);
  EXPECT_EQ(normalise_by(input.narrow(0, 0, 0), weight, bias, mean, variance, 0.1).sizes(),
            (std::vector<std::int64_t>{0, 4, 2, 2}));
}

}  // namespace
}  // namespace paceline::parallel
