#include "paceline/parallel/replicated/gradient_places.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/optim/adam.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/tensor/torch.h"

#include <memory>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

constexpr std::int64_t kLarge = GradientPlaces::kLeastToStay;

at::Tensor flat_wave(std::int64_t numel, double phase) {
  return (at::arange(numel, at::kFloat) * 0.7 + phase).sin();
}

tensor::FlatLayout layout_of(std::span<const std::int64_t> numels) {
  std::vector<tensor::TensorSpec> specs;
  for (std::size_t i = 0; i < numels.size(); ++i)
    specs.push_back(tensor::describe(std::to_string(i), at::empty({numels[i]}), 0));
  return tensor::FlatLayout::build(specs, {});
}

class GradientPlacesTest : public testing::Test {
 protected:
  /// Taken in reverse order: slots of 5, kLarge + 3, 7 and 9 elements.
  tensor::Arena arena_{layout_of(std::vector<std::int64_t>{9, 7, kLarge + 3, 5}), at::empty({0})};
};

TEST_F(GradientPlacesTest, LargeOnesHaveRangesOfTheirOwn) {
  const GradientPlaces places(arena_, true);
  ASSERT_EQ(places.ranges().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const tensor::FlatRange& range = places.ranges()[i];
    EXPECT_EQ(places.range(i).numel(), range.end - range.begin);
    EXPECT_EQ(range.begin,
              arena_.layout().slots[static_cast<std::size_t>(range.first_slot)].offset);
  }
  EXPECT_EQ(places.range(1).numel(), kLarge + 3);
  EXPECT_EQ(places.ranges()[2].end_slot - places.ranges()[2].first_slot, 2);
  EXPECT_EQ(places.bytes_beside_arena(), (kLarge + 3) * sizeof(float));
  EXPECT_EQ(GradientPlaces(arena_, false).ranges(), arena_.layout().ranges);
  EXPECT_EQ(GradientPlaces(arena_, false).bytes_beside_arena(), 0U);
}

TEST_F(GradientPlacesTest, ALargeOneStaysUntilItIsReleased) {
  GradientPlaces places(arena_, true);
  const at::Tensor read_by_optimizer = places.range(1);
  EXPECT_EQ(read_by_optimizer.abs().max().item<float>(), 0);
  const at::Tensor grad = flat_wave(kLarge + 3, 0);
  ASSERT_TRUE(places.leave(1, grad));
  EXPECT_EQ(places.share(1).data_ptr(), grad.data_ptr());
  EXPECT_EQ(read_by_optimizer.data_ptr(), grad.data_ptr());
  places.share(1).add_(1);
  EXPECT_TRUE(read_by_optimizer.equal(flat_wave(kLarge + 3, 0) + 1));
  places.release();
  EXPECT_EQ(read_by_optimizer.data_ptr(), arena_.slot(1).data_ptr());
  EXPECT_FALSE(places.share(1).is_view());
  ASSERT_TRUE(places.leave(1, flat_wave(kLarge + 3, 2))) << "of the next step";
  EXPECT_TRUE(read_by_optimizer.equal(flat_wave(kLarge + 3, 2)));
}

TEST_F(GradientPlacesTest, OthersAreCopied) {
  GradientPlaces places(arena_, true);
  EXPECT_FALSE(places.leave(0, flat_wave(5, 0))) << "small";
  EXPECT_FALSE(places.leave(1, at::zeros({kLarge + 3}, at::kDouble))) << "of another type";
  EXPECT_FALSE(places.leave(1, at::zeros({2 * kLarge + 6}).slice(0, 0, 2 * kLarge + 6, 2)))
      << "with gaps";
  GradientPlaces together(arena_, false);
  EXPECT_FALSE(together.leave(1, flat_wave(kLarge + 3, 0)));
}

/// A large matrix, two convolutions and a bias.
struct LargeNet : torch::nn::Module {
  LargeNet() {
    matrix = register_parameter("matrix", flat_wave(kLarge, 1).view({512, -1}));
    filters = register_parameter("filters", flat_wave(256 * 64 * 9, 2)
                                                .view({256, 64, 3, 3})
                                                .contiguous(at::MemoryFormat::ChannelsLast));
    pointwise = register_parameter(
        "pointwise",
        flat_wave(512 * 256, 4).view({512, 256, 1, 1}).contiguous(at::MemoryFormat::ChannelsLast));
    bias = register_parameter("bias", flat_wave(512, 3));
  }
  at::Tensor loss(std::int64_t step) const {
    const at::Tensor rows = flat_wave(4 * 256, static_cast<double>(step)).view({4, 256});
    const at::Tensor image = flat_wave(64 * 25, static_cast<double>(step)).view({1, 64, 5, 5});
    return at::linear(rows, matrix, bias).sin().sum() +
           at::conv2d(at::conv2d(image.contiguous(at::MemoryFormat::ChannelsLast), filters),
                      pointwise)
               .cos()
               .sum();
  }
  at::Tensor matrix, filters, pointwise, bias;
};

/// Under "none", where large gradients stay, or under "ddp" on one rank, where all lie side by
/// side. Gradients are clipped, once by their values.
std::vector<at::Tensor> trained(bool may_stay, int num_microbatches) {
  LargeNet net;
  const auto communicator = comm::make_fake_communicator(0, 1);
  const auto strategy = may_stay ? make_none({}) : make_ddp({}, *communicator);
  strategy->prepare(net, optim::weight_decay_rules(0.1, false, {}));
  const auto optimizer = optim::make_optimizer(optim::AdamWConfig{}, strategy->param_groups());
  for (int step = 0; step < 3; ++step) {
    for (int part = 0; part < num_microbatches; ++part) {
      strategy->begin_microbatch(part == 0, part + 1 == num_microbatches);
      strategy->backward(net.loss(step * num_microbatches + part), 0.5);
    }
    strategy->finish_gradients();
    clip_grad_norm(*strategy, 0.5);
    if (step == 1) clip_grad_value(*strategy, 1e-3);
    strategy->update(*optimizer, 1e-2);
  }
  std::vector<at::Tensor> results;
  for (const StateShard& shard : strategy->model_state()) results.push_back(shard.data.clone());
  for (const optim::SlotState& state : optimizer->state()) {
    for (const StateShard& shard : strategy->cut_by_parameter("", state.tensors))
      results.push_back(shard.data.clone());
  }
  return results;
}

TEST(GradientPlacesInTraining, NoBitDependsOnWhereTheyLie) {
  for (const int num_microbatches : {1, 2}) {
    const std::vector<at::Tensor> staying = trained(true, num_microbatches);
    const std::vector<at::Tensor> gathered = trained(false, num_microbatches);
    ASSERT_EQ(staying.size(), 12U);
    for (std::size_t i = 0; i < staying.size(); ++i) {
      EXPECT_TRUE(staying[i].equal(gathered[i])) << i;
      EXPECT_GT(staying[i].abs().max().item<float>(), 0) << i;
    }
  }
}

TEST(GradientPlacesInTraining, BackwardsMemoryIsWhatTheOptimizerReads) {
  LargeNet net;
  const auto strategy = make_none({});
  strategy->prepare(net, optim::weight_decay_rules(0.1, false, {}));
  const auto step = [&] {
    strategy->begin_microbatch(true, true);
    strategy->backward(net.loss(0), 1.0);
    strategy->finish_gradients();
  };
  const auto places = [&] {
    std::vector<const void*> found;
    for (const auto& group : strategy->param_groups()) {
      for (const optim::ParamSlot& slot : group.slots) found.push_back(slot.grad.data_ptr());
    }
    return found;
  };
  step();
  const std::vector<const void*> places_of_backward = places();
  strategy->gradients();
  EXPECT_EQ(places(), places_of_backward) << "nothing is copied";
  strategy->begin_microbatch(true, true);  // which leaves them
  int num_moved = 0;
  for (std::size_t i = 0; i < places_of_backward.size(); ++i)
    num_moved += places()[i] == places_of_backward[i] ? 0 : 1;
  EXPECT_EQ(num_moved, 3) << "all but the bias";
}

}  // namespace
}  // namespace paceline::parallel
