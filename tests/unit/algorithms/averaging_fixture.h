#pragma once

// What the tests of averages of weights have in common.

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace paceline::algorithms {

/// A BatchNorm of two channels under "none", whose weights a test sets, for 12 steps in 4 epochs.
class AveragingFixture : public ::testing::Test {
 protected:
  AveragingFixture() {
    const at::NoGradGuard no_grad;
    norm_->weight.fill_(1);
    norm_->bias.fill_(0);
    const std::array rules{optim::GroupRule{"all", 0.0, 1.0, [](auto&&...) { return true; }}};
    state_.strategy = parallel::make_none({});
    state_.strategy->prepare(*norm_, rules);
    state_.clock.lengths = {.total_steps = 12, .steps_per_epoch = 3, .samples_per_step = 1};
  }

  void step(train::Algorithm& algorithm, double weight) {
    const at::NoGradGuard no_grad;
    norm_->weight.fill_(weight);
    norm_->running_mean.fill_(10 * weight);
    state_.clock.step += 1;
    fire(algorithm, train::Event::kStepEnd);
    if (state_.clock.is_epoch_start()) fire(algorithm, train::Event::kEpochEnd);
  }

  void fire(train::Algorithm& algorithm, train::Event event) {
    if (algorithm.traits().events.contains(event)) algorithm.apply(event, state_, run_);
  }

  /// Of a tensor that the average holds, by the parameter's or buffer's name.
  double average(const train::Algorithm& algorithm, const std::string& name = "weight") const {
    const std::string wanted = "algorithms." + std::string(algorithm.name()) + "/" + name;
    for (const tensor::StateShard& shard : algorithm.tensors(state_)) {
      if (shard.name == wanted) return shard.data[0].item<double>();
    }
    ADD_FAILURE() << "there is no average of " << name;
    return 0;
  }

  std::shared_ptr<nn::BatchNorm2d> norm_ = std::make_shared<nn::BatchNorm2d>(2);
  train::TrainState state_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> signal_{0};
  train::RunContext run_{*communicator_, {}, 1, {}, signal_};
};

}  // namespace paceline::algorithms
