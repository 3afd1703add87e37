#include "gpu/test_devices.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/draws.h"

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(KeepMask, IsTheCpusInEveryDtype) {
  const auto device = test::open_device(0);
  const DrawKey key{
      .seed = ~3ull, .purpose = base::DrawPurpose::kDropout, .group = (5ull << 32) + 1, .index = 4};
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    for (const std::int64_t per_sample : {1, 7, 4096}) {
      const at::Tensor like = at::empty({5, per_sample}, dtype);
      const at::Tensor mask = keep_mask(like.to(device->place()), 0.7, key, 11);
      EXPECT_EQ(mask.scalar_type(), dtype);
      EXPECT_TRUE(mask.cpu().equal(keep_mask(like, 0.7, key, 11))) << per_sample;
    }
  }
}

}  // namespace
}  // namespace paceline::tensor
