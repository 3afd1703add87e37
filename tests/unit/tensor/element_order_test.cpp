#include "paceline/tensor/element_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Sizes = std::vector<std::int64_t>;

TEST(ElementOrder, IsAPermutationOrNothing) {
  EXPECT_TRUE(is_order(Sizes{}, 3));
  EXPECT_TRUE(is_order(Sizes{2, 0, 1}, 3));
  EXPECT_FALSE(is_order(Sizes{0, 1}, 3));
  EXPECT_FALSE(is_order(Sizes{0, 1, 1}, 3));
  EXPECT_FALSE(is_order(Sizes{0, 1, 3}, 3));
  EXPECT_FALSE(is_order(Sizes{0, 1, -1}, 3));
}

TEST(ElementOrder, DimensionsOfOneElementDoNotMatter) {
  EXPECT_THAT(canonical_order(Sizes{0, 2, 3, 1}, Sizes{8, 3, 2, 2}), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(canonical_order(Sizes{0, 2, 3, 1}, Sizes{8, 3, 1, 1}), IsEmpty());
  EXPECT_THAT(canonical_order(Sizes{0, 1, 2}, Sizes{4, 4, 4}), IsEmpty());
  EXPECT_EQ(canonical_order(Sizes{2, 1, 0}, Sizes{4, 1, 4}),
            canonical_order(Sizes{1, 2, 0}, Sizes{4, 1, 4}));
}

ElementOrder order_of_memory(const at::Tensor& tensor) {
  return memory_order(tensor.sizes(), tensor.strides());
}

TEST(ElementOrder, OfMemoryNamesDimensionsFromTheSlowestToTheFastest) {
  EXPECT_THAT(order_of_memory(at::zeros({2, 3, 4})), IsEmpty());
  const at::Tensor images = at::zeros({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_THAT(order_of_memory(images), ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(order_of_memory(at::zeros({3, 4}).t()), ElementsAre(1, 0));
  // Strides of dimensions of one element say nothing.
  const at::Tensor single = at::zeros({2, 1, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_THAT(order_of_memory(single), IsEmpty());
}

TEST(ElementOrder, CutsWhatTheOrderCounts) {
  const at::Tensor whole = at::arange(120).view({2, 3, 4, 5});
  const Sizes order{2, 0, 3, 1};
  const at::Tensor flat = whole.permute(order).reshape(-1);
  for (const auto& [begin, end] : {std::pair{0, 120}, {7, 61}, {30, 60}, {119, 120}, {5, 5}}) {
    EXPECT_TRUE(cut(whole, order, begin, end).equal(flat.slice(0, begin, end))) << begin;
  }
  EXPECT_TRUE(whole_of(flat, Sizes{2, 3, 4, 5}, order).equal(whole));
  EXPECT_TRUE(cut(at::scalar_tensor(3), {}, 0, 1).equal(at::full({1}, 3.0)));
}

}  // namespace
}  // namespace paceline::tensor
