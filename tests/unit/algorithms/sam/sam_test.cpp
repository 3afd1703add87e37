#include "paceline/algorithms/sam/sam.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/parallel/sharded/sharded_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/train_block_net.h"

#include <atomic>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using train::Event;
using train::PassSum;

class SamTest : public ::testing::Test {
 protected:
  /// A step's first pass over a few samples, with a factor on the loss.
  void pass(Sam& sam, double factor = 1) {
    state_.strategy->begin_microbatch(true, false);
    state_.strategy->backward(test::summed_loss(net_, 0, 4) * factor, 0.25);
    state_.strategy->end_own_pass();
    asked_to_skip_ = sam.after_extra_pass(state_).item<float>() != 0;
  }
  std::vector<at::Tensor> weights() const {
    std::vector<at::Tensor> copies;
    for (const at::Tensor& parameter : net_.parameters())
      copies.push_back(parameter.detach().clone());
    return copies;
  }
  double distance(const std::vector<at::Tensor>& from) const {
    double square = 0;
    const auto now = weights();
    for (std::size_t i = 0; i < now.size(); ++i)
      square += (now[i] - from[i]).square().sum().item<double>();
    return std::sqrt(square);
  }

  test::BlockNet net_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> no_signal_{0};
  train::RunContext run_{*communicator_, {}, 1, {}, no_signal_};
  train::TrainState state_;
  bool asked_to_skip_ = false;
};

TEST_F(SamTest, ClimbsByRhoAndComesBackExactly) {
  state_.strategy = parallel::make_none({});
  state_.strategy->prepare(net_, test::block_net_rules());
  Sam sam({.rho = 0.3});
  const auto before = weights();
  pass(sam);
  EXPECT_FALSE(asked_to_skip_);
  EXPECT_NEAR(distance(before), 0.3, 1e-12);
  sam.apply(Event::kGradientsReady, state_, run_);
  EXPECT_EQ(distance(before), 0);
}

TEST_F(SamTest, StaysAndAsksToSkipWhereTheGradientIsNotFinite) {
  state_.strategy = parallel::make_none({});
  state_.strategy->prepare(net_, test::block_net_rules());
  Sam sam({});
  const auto before = weights();
  pass(sam, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(asked_to_skip_);
  EXPECT_EQ(distance(before), 0);
}

TEST_F(SamTest, ActsInEveryIntervalthStep) {
  const Sam sam({.interval = 3});
  for (const std::int64_t step : {0, 1, 3, 4, 6}) {
    state_.clock.step = step;
    EXPECT_FALSE(sam.extra_pass(state_)) << step;
  }
  for (const std::int64_t step : {2, 5}) {
    state_.clock.step = step;
    EXPECT_EQ(sam.extra_pass(state_), PassSum::kOfThisRank) << step;
  }
  EXPECT_EQ(Sam({.ascent = Ascent::kGlobal}).extra_pass(state_), PassSum::kOfAllRanks);
}

TEST_F(SamTest, RefusesStrategiesThatReduceGradientsAsTheyCome) {
  state_.strategy = parallel::make_fsdp({}, *communicator_);
  Sam own({});
  EXPECT_THAT([&] { own.apply(Event::kPrepared, state_, run_); },
              ThrowsMessage<base::ConfigError>(HasSubstr("algorithms.sam.ascent=global")));
  Sam global({.ascent = Ascent::kGlobal});
  EXPECT_NO_THROW(global.apply(Event::kPrepared, state_, run_));
}

TEST_F(SamTest, RefusesToMixWhatIsLeftOutOfItsTwoGradients) {
  state_.strategy =
      parallel::make_ddp({.compression = parallel::Compression::kPowerSgd}, *communicator_);
  state_.strategy->prepare(net_, test::block_net_rules());
  for (const Ascent ascent : {Ascent::kRank, Ascent::kGlobal}) {
    Sam sam({.ascent = ascent});
    EXPECT_THAT([&] { sam.apply(Event::kPrepared, state_, run_); },
                ThrowsMessage<base::ConfigError>(HasSubstr("powersgd")));
  }
}

}  // namespace
}  // namespace paceline::algorithms
