#include "paceline/callbacks/new_part.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::callbacks {
namespace {

class NewPartTest : public ::testing::Test {
 protected:
  bool ends_run(NewPart& callback) {
    return callback.on_event(train::Event::kEvaluated, state_, run_).has_value();
  }

  train::TrainState state_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> signal_{0};
  train::RunContext run_{*communicator_, {}, 1, {}, signal_};
};

TEST_F(NewPartTest, EndsTheRunAfterSoManyEvaluationsAlsoOfAnEarlierStart) {
  NewPart before({.after = 2});
  EXPECT_FALSE(ends_run(before));
  NewPart after({.after = 2});
  after.load_state_dict(before.state_dict());
  EXPECT_TRUE(ends_run(after));
}

}  // namespace
}  // namespace paceline::callbacks
