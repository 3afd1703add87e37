#include "paceline/parallel/sharded/shard_unit.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/tensor/torch.h"
#include "support/small_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

/// Rank 0 of two, without a peer: gathers repeat its shard, and sums are its own slice.
class ShardUnitTest : public testing::Test {
 protected:
  ShardUnitTest() {
    for (const char* name : {"a", "b"}) {
      parameters_.push_back({name, test::wave({8}, 0).requires_grad_()});
      specs_.push_back(tensor::describe(name, parameters_.back().tensor, 0));
    }
    unit_.add(std::make_unique<ShardedFlat>(
        parameters_, specs_, FillValues(), *group_, *group_,
        ShardedFlatOptions{.param_dtype = at::kDouble, .reduce_dtype = at::kDouble}));
  }
  bool holds_memory() const { return parameters_[0].tensor.storage().nbytes() != 0; }
  static at::Tensor grad() { return at::ones({8}, at::kDouble); }

  std::unique_ptr<comm::Communicator> group_ = comm::make_fake_communicator(0, 2);
  std::vector<NamedTensor> parameters_;
  std::vector<tensor::TensorSpec> specs_;
  ShardUnit unit_{"block"};
};

TEST_F(ShardUnitTest, GathersOnceUntilItIsReleased) {
  EXPECT_FALSE(holds_memory());
  unit_.start_gather();
  unit_.start_gather();
  unit_.finish_gather();
  unit_.finish_gather();
  EXPECT_TRUE(holds_memory());
  unit_.release();
  EXPECT_FALSE(holds_memory());
  unit_.release();
  unit_.start_gather();  // one that is never used
  unit_.release();
  EXPECT_FALSE(holds_memory());
}

TEST_F(ShardUnitTest, CountsGradientsPassByPass) {
  unit_.begin_gradients(/*starts_sum=*/true);
  unit_.take_gradient(0, 0, grad());
  EXPECT_FALSE(unit_.has_all_gradients());
  unit_.take_gradient(0, 1, grad());
  EXPECT_TRUE(unit_.has_all_gradients());
  unit_.begin_gradients(/*starts_sum=*/false);
  EXPECT_FALSE(unit_.has_all_gradients());
  unit_.take_gradient(0, 0, grad());
  unit_.take_gradient(0, 0, grad());  // a parameter that two recomputed blocks share
  EXPECT_FALSE(unit_.has_all_gradients());
  unit_.zero_missing_gradients();
  EXPECT_TRUE(unit_.has_all_gradients());
  unit_.start_reduce();
  unit_.finish_reduce(/*add=*/false);
  // Of slot 0 three gradients of 8 ones, of slot 1 one.
  EXPECT_EQ(unit_.flats()[0]->grad_shard().sum().item<double>(), 3 * 8 + 8);
}

TEST_F(ShardUnitTest, WaitsForNothingFrozenAndSumsZerosOfIt) {
  parameters_[1].tensor.requires_grad_(false);
  unit_.follow_trainable();
  unit_.begin_gradients(/*starts_sum=*/true);
  unit_.take_gradient(0, 0, grad());
  EXPECT_TRUE(unit_.has_all_gradients());
  unit_.start_reduce();
  unit_.finish_reduce(/*add=*/false);
  EXPECT_EQ(unit_.flats()[0]->grad_shard().sum().item<double>(), 8);
  parameters_[0].tensor.requires_grad_(false);
  unit_.follow_trainable();
  EXPECT_FALSE(unit_.is_trainable());
  EXPECT_EQ(unit_.flats()[0]->grad_shard().sum().item<double>(), 0) << "no sum overwrites it";
}

TEST_F(ShardUnitTest, RefusesAGradientThatComesTooLate) {
  unit_.begin_gradients(true);
  unit_.zero_missing_gradients();
  unit_.start_reduce();
  EXPECT_THAT(
      [&] { unit_.take_gradient(0, 0, grad()); },
      testing::ThrowsMessage<base::InternalError>(testing::HasSubstr("after those of block")));
}

TEST_F(ShardUnitTest, AfterAChangeItGathersAnew) {
  unit_.finish_gather();
  unit_.flats()[0]->shard().fill_(3);
  unit_.expire();
  unit_.finish_gather();
  EXPECT_EQ(parameters_[0].tensor.detach().max().item<double>(), 3);
}

}  // namespace
}  // namespace paceline::parallel
