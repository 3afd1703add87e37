#include "paceline/tensor/draws.h"

#include "paceline/tensor/aten.h"
#include "paceline/tensor/draw_code.h"
#include "support/queued_device.h"

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(Draws, DependOnTheKeyAloneAndNotOnStrides) {
  const at::Tensor plain = at::empty({4, 3, 5, 5});
  const at::Tensor channels_last =
      at::empty({4, 3, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  fill_normal(plain, 0, 1, {.seed = 3, .index = 9});
  fill_normal(channels_last, 0, 1, {.seed = 3, .index = 9});
  EXPECT_TRUE(at::equal(plain, channels_last));
  fill_normal(channels_last, 0, 1, {.seed = 3, .index = 10});
  EXPECT_FALSE(at::equal(plain, channels_last));
}

TEST(Draws, TruncatedNormalStaysInside) {
  const at::Tensor values = at::empty({1000});
  fill_truncated_normal(values, 0, 1, -0.5, 0.5, {.seed = 1});
  EXPECT_LE(values.abs().max().item<double>(), 0.5);
  EXPECT_GT(values.std().item<double>(), 0.2);
}

TEST(Draws, AnyNumberOfThreadsDrawsTheSame) {
  const int before = at::get_num_threads();
  const auto draw = [](int num_threads) {
    at::set_num_threads(num_threads);
    std::vector<at::Tensor> drawn;
    for (const std::int64_t count : {10, 70'000, 300'001}) {
      drawn.push_back(at::empty({count}));
      fill_uniform(drawn.back(), -1, 2, {.seed = 3, .index = 1});
      drawn.push_back(at::empty({count}));
      fill_normal(drawn.back(), 1, 2, {.seed = 3, .index = 2});
      drawn.push_back(at::empty({count}, at::kDouble));
      fill_truncated_normal(drawn.back(), 0, 1, -0.5, 0.5, {.seed = 3, .index = 3});
    }
    return at::cat(drawn);
  };
  const at::Tensor alone = draw(1);
  const at::Tensor together = draw(3);
  at::set_num_threads(before);
  EXPECT_TRUE(at::equal(alone, together));
  EXPECT_FALSE(alone.isnan().any().item<bool>());
}

TEST(Draws, KeepMaskFollowsTheGlobalPosition) {
  const at::Tensor like = at::empty({4, 100});
  const DrawKey key{.seed = 5, .purpose = base::DrawPurpose::kDropout, .group = 2, .index = 1};
  const at::Tensor whole = keep_mask(like, 0.7, key, 10);
  const at::Tensor half = keep_mask(like.narrow(0, 0, 2), 0.7, key, 12);
  EXPECT_TRUE(at::equal(whole.narrow(0, 2, 2), half));
  EXPECT_NEAR(whole.mean().item<double>(), 0.7, 0.1);
}

TEST(Draws, AKeepMaskOfADeviceIsDrawnThere) {
  paceline::test::QueuedDevice device;
  const at::Tensor like = at::empty({3, 7}, at::kDouble);
  const DrawKey key{.seed = 5, .purpose = base::DrawPurpose::kDropout, .group = 2, .index = 1};
  const at::Tensor mask = keep_mask(at::empty_like(like, device.place()), 0.5, key, 10);
  EXPECT_EQ(device.gpu().counts().waits + device.gpu().counts().pageable_copies, 0);
  EXPECT_EQ(mask.device(), device.place());
  EXPECT_TRUE(mask.cpu().equal(keep_mask(like, 0.5, key, 10)));
}

TEST(Draws, SamplesAreThoseOfTheirPositions) {
  const DrawKey key{
      .seed = 5, .purpose = base::DrawPurpose::kAugmentation, .group = 2, .index = 10};
  DrawKey later = key;
  later.index += 2;
  const at::Tensor like = at::empty({4, 50, 60});
  EXPECT_TRUE(at::equal(normal_samples(like, key).narrow(0, 2, 2),
                        normal_samples(like.narrow(0, 2, 2), later)));
  EXPECT_TRUE(at::equal(uniform_samples(like, key).narrow(0, 2, 2),
                        uniform_samples(like.narrow(0, 2, 2), later)));
  const at::Tensor third = at::empty({50, 60});
  fill_normal(third, 0, 1, later);
  EXPECT_TRUE(at::equal(normal_samples(like, key)[2], third));
}

TEST(Draws, SamplesOfADeviceAreDrawnThere) {
  paceline::test::QueuedDevice device;
  const at::Tensor like = at::empty({3, 7}, at::kDouble);
  const at::Tensor there = at::empty_like(like, device.place());
  const DrawKey key{.seed = 5, .purpose = base::DrawPurpose::kAugmentation, .index = 1};
  const at::Tensor normals = normal_samples(there, key);
  const at::Tensor uniforms = uniform_samples(there, key);
  EXPECT_EQ(device.gpu().counts().waits + device.gpu().counts().pageable_copies, 0);
  EXPECT_EQ(normals.device(), device.place());
  EXPECT_TRUE(normals.cpu().equal(normal_samples(like, key)));
  EXPECT_TRUE(uniforms.cpu().equal(uniform_samples(like, key)));
}

// What GPUs compile, compiled here.
TEST(Draws, TheCodeOfGpusDrawsTheSameSamples) {
  for (const std::uint64_t position : {0ULL, 9ULL, (1ULL << 40) + 3}) {
    const DrawKey key{.seed = ~5ull,
                      .purpose = base::DrawPurpose::kAugmentation,
                      .group = (7ull << 32) + 11,
                      .index = position};
    const auto group = static_cast<std::int64_t>(key.group);
    const auto first = static_cast<std::int64_t>(position);
    const std::int64_t bits = bits_of_key(key.seed, key.purpose);
    const at::Tensor normals = normal_samples(at::empty({3, 2050}), key).view({-1});
    for (int element = 0; element < normals.numel(); ++element) {
      ASSERT_EQ(std::bit_cast<float>(normal_element<int>(element, 2050, bits, group, first)),
                normals.const_data_ptr<float>()[element])
          << element;
    }
    const at::Tensor uniforms = uniform_samples(at::empty({5, 1}), key);
    for (long long sample = 0; sample < 5; ++sample) {
      EXPECT_EQ(
          static_cast<double>(uniform_element<long long>(sample, bits, group, first)) * 0x1.0p-53,
          uniforms[sample].item<double>());
    }
  }
}

// What GPUs compile, compiled here.
TEST(Draws, TheCodeOfGpusDrawsTheSameMask) {
  for (const std::int64_t first_position : {0LL, 9LL, (1LL << 40) + 3}) {
    const DrawKey key{.seed = ~5ull,
                      .purpose = base::DrawPurpose::kDropPath,
                      .group = (7ull << 32) + 11,
                      .index = 3};
    const at::Tensor mask = keep_mask(at::empty({5, 7}), 0.6, key, first_position);
    const std::int64_t bits = bits_of_key(key.seed ^ (key.index << 40), key.purpose);
    for (std::int64_t element = 0; element < mask.numel(); ++element) {
      EXPECT_EQ(keep_element<std::int64_t>(element, 7, bits, static_cast<std::int64_t>(key.group),
                                           first_position, 0.6),
                mask.view({-1})[element].item<float>())
          << element;
    }
  }
  EXPECT_NE(std::string_view(kKeepElementCode).find("keep_element"), std::string_view::npos);
}

}  // namespace
}  // namespace paceline::tensor
