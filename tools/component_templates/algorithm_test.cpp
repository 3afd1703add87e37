#include "paceline/algorithms/new_part/new_part.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

class NewPartTest : public ::testing::Test {
 protected:
  train::TrainState state_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> signal_{0};
  train::RunContext run_{*communicator_, {}, 1, {}, signal_};
};

TEST_F(NewPartTest, ActsEverySoManySteps) {
  NewPart algorithm({.every = 2});
  for (state_.clock.step = 1; state_.clock.step <= 5; ++state_.clock.step)
    algorithm.apply(train::Event::kStepEnd, state_, run_);
  EXPECT_EQ(algorithm.times_applied(), 2);
}

TEST_F(NewPartTest, RemembersWhatItDid) {
  NewPart before({});
  before.apply(train::Event::kStepEnd, state_, run_);
  NewPart after({});
  after.load_state_dict(before.state_dict());
  EXPECT_EQ(after.times_applied(), 1);
}

}  // namespace
}  // namespace paceline::algorithms
