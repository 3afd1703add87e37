#include "paceline/comm/collective.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

TEST(CollectiveSignature, SpeaksOfKindShapeAndDtype) {
  EXPECT_EQ(to_text(signature_of(CollectiveKind::kAllReduce, 2, at::zeros({4, 3}, at::kDouble))),
            "all_reduce max [4, 3] Double");
  EXPECT_EQ(
      to_text(signature_of(CollectiveKind::kBroadcast, 2, at::zeros({1, 2, 3, 4, 5}, at::kLong))),
      "broadcast from 2 [1, 2, 3, 4, ...] Long");
  EXPECT_EQ(to_text({.kind = CollectiveKind::kBarrier}), "barrier");
}

TEST(CollectiveSignature, HashTellsApartAllThatMustAgree) {
  const at::Tensor tensor = at::zeros({4, 3});
  const auto base = signature_of(CollectiveKind::kAllReduce, 0, tensor);
  EXPECT_EQ(hash(base), hash(signature_of(CollectiveKind::kAllReduce, 0, at::ones({4, 3}))));
  for (const auto& other :
       {signature_of(CollectiveKind::kAllReduce, 1, tensor),
        signature_of(CollectiveKind::kAllGather, 0, tensor),
        signature_of(CollectiveKind::kAllReduce, 0, at::zeros({3, 4})),
        signature_of(CollectiveKind::kAllReduce, 0, at::zeros({12})),
        signature_of(CollectiveKind::kAllReduce, 0, at::zeros({4, 3}, at::kInt))}) {
    EXPECT_NE(hash(base), hash(other)) << to_text(other);
  }
}

TEST(SumSlices, AddsInRankOrderInFloat32) {
  const at::Tensor output = at::empty({2}, at::kBFloat16);
  // 256 + 1 + 1 is 258 in float32; in bfloat16 each 1 would be lost.
  sum_slices(output, at::tensor({256.0F, 1.0F, 1.0F, 1.0F, 1.0F, 1.0F}).to(at::kBFloat16), 3);
  EXPECT_EQ(output[0].item<float>(), 258.0F);
  EXPECT_EQ(output[1].item<float>(), 3.0F);
  const at::Tensor ordered = at::empty({1});
  sum_slices(ordered, at::tensor({1e8F, 1.0F, -1e8F}), 3);
  EXPECT_EQ(ordered.item<float>(), 0.0F);
}

TEST(CheckSlices, RefusesWrongSizesAndLayouts) {
  EXPECT_NO_THROW(check_slices(at::empty({6}), at::empty({2}), 3));
  EXPECT_THROW(check_slices(at::empty({5}), at::empty({2}), 3), base::InternalError);
  EXPECT_THROW(check_slices(at::empty({6}), at::empty({2}, at::kDouble), 3), base::InternalError);
  EXPECT_THROW(check_slices(at::empty({2, 3}).t(), at::empty({2}), 3), base::InternalError);
}

}  // namespace
}  // namespace paceline::comm
