#include "paceline/parallel/sharded/sharded_schedule.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "support/block_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using test::BlockNet;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

/// Rank 0 of two, without a peer: gathers repeat its shard, and sums are its own slice.
class ShardedScheduleTest : public testing::Test {
 protected:
  ShardedSchedule schedule(const ScheduleOptions& options) {
    return {layout_, options, /*replicas=*/nullptr};
  }

  at::Tensor loss() const { return test::summed_loss(net_, 0, 2); }

  /// Of each block, whether its parameters are gathered.
  std::vector<bool> gathered() const {
    std::vector<bool> found;
    for (const auto& block : net_.blocks) found.push_back(block->up.storage().nbytes() != 0);
    return found;
  }

  BlockNet net_;
  std::unique_ptr<comm::Communicator> world_ = comm::make_fake_communicator(0, 2);
  ShardGroups groups_{*world_, 0};
  ShardedLayout layout_{net_, optim::weight_decay_rules(0.0, false, {}), {}, {}, false, groups_};
};

TEST_F(ShardedScheduleTest, FreesABlockAfterItsForwardPassExceptTheLast) {
  ShardedSchedule fsdp = schedule({.keep_full = KeepFull::kUntilForwardEnds});
  EXPECT_THAT(gathered(), Each(false));
  fsdp.begin_microbatch(true, true);
  EXPECT_THAT(gathered(), ElementsAre(true, false, false, false)) << "the first comes ahead";
  const at::Tensor sum = loss();
  EXPECT_THAT(gathered(), ElementsAre(false, false, false, true)) << "where backward begins";
  fsdp.backward(sum, 1.0);
  fsdp.finish_gradients();
  EXPECT_THAT(gathered(), Each(false));
  EXPECT_THAT(fsdp.without_gradient(), IsEmpty());
}

TEST_F(ShardedScheduleTest, KeepsBlocksUntilTheirBackwardPassEnds) {
  ShardedSchedule stays = schedule({.keep_full = KeepFull::kUntilBackwardEnds});
  stays.begin_microbatch(true, true);
  const at::Tensor sum = loss();
  EXPECT_THAT(gathered(), Each(true));
  stays.backward(sum, 1.0);
  stays.finish_gradients();
  EXPECT_THAT(gathered(), Each(false));
}

TEST_F(ShardedScheduleTest, FreesAllBlocksWithoutABackwardPass) {
  ShardedSchedule fsdp = schedule({});
  fsdp.gather_root();
  {
    const at::NoGradGuard no_grad;
    loss();
  }
  EXPECT_THAT(gathered(), Each(false));
  fsdp.forward_nothing();
  EXPECT_THAT(gathered(), Each(false));
  EXPECT_NE(net_.head.storage().nbytes(), 0U);
  fsdp.release_all();
  EXPECT_EQ(net_.head.storage().nbytes(), 0U);
}

TEST_F(ShardedScheduleTest, AddsUpMicrobatchesEitherWay) {
  std::vector<at::Tensor> sums;
  for (const bool accumulates : {false, true}) {
    ShardedSchedule steps = schedule({.accumulates_full_gradients = accumulates});
    for (const bool is_last : {false, true}) {
      steps.begin_microbatch(!is_last, is_last);
      steps.backward(loss(), 1.0);
    }
    steps.finish_gradients();
    sums.push_back(at::cat(layout_.grad_shards()));
  }
  EXPECT_TRUE(at::allclose(sums[0], sums[1], 1e-12, 1e-14));
  EXPECT_GT(sums[0].abs().max().item<double>(), 0.0);
}

TEST_F(ShardedScheduleTest, KnowsWhatGotNoGradient) {
  ShardedSchedule fsdp = schedule({});
  fsdp.begin_microbatch(true, true);
  fsdp.backward(net_.head.sum(), 1.0);
  fsdp.finish_gradients();
  EXPECT_EQ(fsdp.without_gradient().size(), layout_.trained().size() - 1);
  fsdp.begin_microbatch(true, true);
  fsdp.forward_nothing();
  fsdp.backward_nothing();
  fsdp.finish_gradients();
  EXPECT_THAT(fsdp.without_gradient(), IsEmpty()) << "a rank without samples shows nothing";
  EXPECT_EQ(at::cat(layout_.grad_shards()).abs().max().item<double>(), 0.0);
}

TEST_F(ShardedScheduleTest, RefusesAStepWithoutALastMicrobatch) {
  ShardedSchedule fsdp = schedule({});
  fsdp.begin_microbatch(true, false);
  EXPECT_THROW(fsdp.finish_gradients(), base::InternalError);
}

}  // namespace
}  // namespace paceline::parallel
