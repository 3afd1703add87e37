#include "paceline/tensor/storage.h"

#include "paceline/tensor/aten.h"

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(Storage, MemoryComesAndGoesForAllViews) {
  const at::Tensor whole = at::ones({4, 6});
  const at::Tensor view = whole.narrow(1, 2, 3);
  EXPECT_TRUE(has_memory(view));
  free_memory(view);
  EXPECT_FALSE(has_memory(whole));
  EXPECT_EQ(whole.sizes(), at::IntArrayRef({4, 6}));
  EXPECT_EQ(view.strides(), at::IntArrayRef({6, 1}));
  allocate_memory(whole);
  whole.fill_(3);
  EXPECT_EQ(view.sum().item<double>(), 3 * 12);
  const void* const before = whole.data_ptr();
  allocate_memory(whole);  // it has some
  EXPECT_EQ(whole.data_ptr(), before);
}

TEST(Storage, ATensorWithoutMemoryKeepsTheShapeOfItsModel) {
  const at::Tensor like = at::ones({2, 3, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor tensor = without_memory(like, at::kDouble, at::kCPU);
  EXPECT_FALSE(has_memory(tensor));
  EXPECT_EQ(tensor.sizes(), like.sizes());
  EXPECT_EQ(tensor.strides(), like.strides());
  EXPECT_EQ(tensor.scalar_type(), at::kDouble);
  allocate_memory(tensor);
  EXPECT_EQ(tensor.storage().nbytes(), 96 * sizeof(double));
  EXPECT_TRUE(has_memory(at::empty({0})));  // nothing is missing
}

}  // namespace
}  // namespace paceline::tensor
