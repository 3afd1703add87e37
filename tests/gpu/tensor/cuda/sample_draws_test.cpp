#include "gpu/test_devices.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/draws.h"

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(SampleDraws, AreTheCpusInEveryDtype) {
  const auto device = test::open_device(0);
  const DrawKey key{.seed = ~3ull,
                    .purpose = base::DrawPurpose::kAugmentation,
                    .group = (5ull << 32) + 1,
                    .index = 11};
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    for (const std::int64_t per_sample : {1, 7, 100'000}) {
      const at::Tensor like = at::empty({5, per_sample}, dtype);
      const at::Tensor there = like.to(device->place());
      const at::Tensor drawn = normal_samples(there, key);
      EXPECT_EQ(drawn.scalar_type(), dtype);
      EXPECT_TRUE(drawn.cpu().equal(normal_samples(like, key))) << per_sample;
      EXPECT_TRUE(uniform_samples(there, key).cpu().equal(uniform_samples(like, key)));
    }
  }
}

}  // namespace
}  // namespace paceline::tensor
