#include "paceline/tensor/arena.h"

#include "paceline/tensor/torch.h"

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

FlatLayout layout_of(const std::vector<at::Tensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    specs.push_back(describe("t" + std::to_string(i), tensors[i], 0));
  }
  return FlatLayout::build(specs, {});
}

TEST(Arena, SlotsAreViewsWithTheirOwnStrides) {
  const at::Tensor weight = at::randn({4, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  const Arena arena(layout_of({weight, at::zeros({5}, at::kDouble), at::zeros({7})}), weight);
  ASSERT_EQ(arena.flats().size(), 2U);
  for (std::size_t i = 0; i < 3; ++i) {
    const FlatSlot& slot = arena.layout().slots[i];
    EXPECT_EQ(arena.slot(i).strides().vec(), slot.spec.strides);
    arena.slot(i).fill_(static_cast<double>(i) + 1);
    EXPECT_EQ(arena.slot(i).sum().item<double>(),
              static_cast<double>(slot.numel) * (static_cast<double>(i) + 1));
  }
  double total = 0;
  for (const at::Tensor& flat : arena.flats()) total += flat.count_nonzero().item<double>();
  EXPECT_EQ(total, 48 + 5 + 7);  // padding is zero
}

TEST(Arena, MoveIntoKeepsValuesHandleAndGradientAccumulator) {
  at::Tensor weight = at::randn({4, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast);
  weight.requires_grad_();
  const at::Tensor before = weight.detach().clone();
  const at::Tensor alias = weight;
  const auto accumulator = torch::autograd::impl::grad_accumulator(weight);
  const Arena arena(layout_of({weight}), weight);
  move_into(weight, arena.slot(0));
  EXPECT_TRUE(at::equal(weight, before));
  EXPECT_EQ(alias.data_ptr(), arena.flats()[0].data_ptr());
  EXPECT_TRUE(alias.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(weight.requires_grad() && weight.is_leaf());
  EXPECT_EQ(torch::autograd::impl::grad_accumulator(weight), accumulator);
}

TEST(Arena, AFlatWriteBetweenForwardAndBackwardIsNoticed) {
  at::Tensor weight = at::randn({4});
  weight.requires_grad_();
  const Arena arena(layout_of({weight}), weight);
  move_into(weight, arena.slot(0));
  const at::Tensor loss = weight.square().sum();
  arena.flats()[0].mul_(2);
  EXPECT_THROW(loss.backward(), c10::Error);
}

}  // namespace
}  // namespace paceline::tensor
