#pragma once

// What the tests of averages that move in the optimizer's pass have in common.

#include "paceline/algorithms/lookahead/lookahead.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/small_net.h"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace paceline::algorithms {

/// SGD that counts the averages which it is asked for.
class CountingSgd final : public optim::Optimizer {
 public:
  explicit CountingSgd(std::vector<optim::ParamGroup> groups)
      : inner_(optim::make_optimizer(optim::SgdConfig{}, std::move(groups))) {}

  int num_averages() const { return num_averages_; }

  std::string_view name() const override { return inner_->name(); }
  using Optimizer::step;
  void step(double lr, const at::Tensor& skip) override { inner_->step(lr, skip); }
  bool average_next_parameters(std::span<const at::Tensor> averages, double share) override {
    ++num_averages_;
    return inner_->average_next_parameters(averages, share);
  }
  std::vector<optim::SlotState> state() const override { return inner_->state(); }
  std::int64_t num_steps() const override { return inner_->num_steps(); }
  void set_num_steps(std::int64_t num_steps) override { inner_->set_num_steps(num_steps); }
  std::vector<optim::ParamGroup>& groups() override { return inner_->groups(); }

 private:
  std::unique_ptr<optim::Optimizer> inner_;
  int num_averages_ = 0;
};

/// Twelve steps in four epochs of a small net, the seventh of which is skipped, with one algorithm.
class SteppingRun {
 public:
  /// `meets_others`: it learns what else there is, with `has_writer` one that writes weights too.
  SteppingRun(std::unique_ptr<train::Algorithm> algorithm, bool meets_others,
              bool has_writer = false) {
    state_.strategy = parallel::make_none({});
    state_.strategy->prepare(net_, optim::weight_decay_rules(0.1, false, {}));
    auto optimizer = std::make_unique<CountingSgd>(state_.strategy->param_groups());
    optimizer_ = optimizer.get();
    state_.optimizer = std::move(optimizer);
    state_.clock.lengths = {.total_steps = 12, .steps_per_epoch = 3, .samples_per_step = 8};
    algorithms_.push_back(std::move(algorithm));
    if (has_writer) algorithms_.push_back(std::make_unique<Lookahead>(LookaheadConfig{}));
    if (meets_others) algorithms_.front()->meet(algorithms_);
    fire(train::Event::kPrepared);
    for (int step = 0; step < 12; ++step) take_step(step);
  }

  int num_asked() const { return optimizer_->num_averages(); }
  /// Of the algorithm and of the model.
  std::vector<at::Tensor> tensors() const {
    std::vector<at::Tensor> found;
    for (const tensor::StateShard& shard : algorithms_.front()->tensors(state_))
      found.push_back(shard.data);
    for (const tensor::StateShard& shard : state_.strategy->model_state())
      found.push_back(shard.data);
    return found;
  }
  bool equals(const SteppingRun& other) const {
    const std::vector<at::Tensor> own = tensors(), others = other.tensors();
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (!own[i].equal(others[i])) return false;
    }
    return own.size() == others.size();
  }

 private:
  void take_step(int number) {
    state_.strategy->begin_microbatch(true, true);
    state_.strategy->backward(paceline::test::summed_loss(net_, number, 8), 0.1);
    state_.strategy->finish_gradients();
    fire(train::Event::kBeforeOptimizerStep);
    state_.strategy->update(*state_.optimizer, 0.01, number == 6 ? at::ones({}) : at::Tensor());
    state_.clock.step += 1;
    fire(train::Event::kStepEnd);
    if (state_.clock.is_epoch_start()) fire(train::Event::kEpochEnd);
  }
  void fire(train::Event event) {
    train::Algorithm& algorithm = *algorithms_.front();
    if (algorithm.traits().events.contains(event)) algorithm.apply(event, state_, run_);
  }

  paceline::test::SmallNet net_;
  train::TrainState state_;
  CountingSgd* optimizer_ = nullptr;
  std::vector<std::unique_ptr<train::Algorithm>> algorithms_;
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  std::atomic<int> signal_{0};
  train::RunContext run_{*communicator_, {}, 1, {}, signal_};
};

}  // namespace paceline::algorithms
