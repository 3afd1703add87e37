#pragma once

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::test {

/// Whole tensors by name.
using Values = std::map<std::string, at::Tensor>;

/// An algorithm that averages weights after steps.
using MakeAverage = std::function<std::unique_ptr<train::Algorithm>()>;

/// A BlockNet that is trained and averaged on one rank.
class AveragedTraining {
 public:
  AveragedTraining(const MakeStrategy& make, comm::Communicator& ranks,
                   const MakeAverage& make_average)
      : ranks_(ranks),
        net_(ranks.rank()),
        run_{ranks, {}, 1, {}, signal_},
        average_(make_average()) {
    state_.strategy = make(ranks);
    state_.strategy->prepare(net_, block_net_rules());
    state_.optimizer = optim::make_optimizer(optim::AdamWConfig{}, state_.strategy->param_groups());
    state_.clock.lengths = {.total_steps = 100, .steps_per_epoch = 10, .samples_per_step = kBatch};
    for (const auto event : {train::Event::kPrepared, train::Event::kFitStart}) {
      if (average_->traits().events.contains(event)) average_->apply(event, state_, run_);
    }
  }

  void train(int num_steps) {
    parallel::Strategy& strategy = *state_.strategy;
    const std::int64_t share = kBatch / ranks_.world_size();
    for (int step = 0; step < num_steps; ++step) {
      strategy.begin_microbatch(true, true);
      strategy.backward(summed_loss(net_, ranks_.rank() * share, share), 1.0 / kBatch);
      strategy.finish_gradients();
      strategy.update(*state_.optimizer, 0.01);
      net_.seen.fill_(static_cast<double>(state_.clock.step));
      state_.clock.step += 1;
      average_->apply(train::Event::kStepEnd, state_, run_);
    }
  }

  void swap() { average_->swap_weights(state_); }
  std::vector<tensor::StateShard> averages() const { return average_->tensors(state_); }
  std::vector<tensor::StateShard> weights() { return state_.strategy->model_state(); }
  std::vector<tensor::StateShard> optimizer_state() {
    return state_.strategy->optimizer_state(*state_.optimizer);
  }

  /// Goes on from the whole tensors of another training, whose algorithm had this state.
  void load(const Values& saved, int num_steps, const nlohmann::json& state) {
    const at::NoGradGuard no_grad;
    for (const auto& shards : {averages(), weights(), optimizer_state()}) {
      for (const tensor::StateShard& shard : shards)
        shard.data.copy_(elements_of(saved.at(shard.name), shard).view_as(shard.data));
    }
    state_.strategy->state_was_loaded();
    state_.clock.step = num_steps;
    state_.optimizer->set_num_steps(num_steps);
    average_->load_state_dict(state);
  }

 private:
  static constexpr std::int64_t kBatch = 8;

  comm::Communicator& ranks_;
  BlockNet net_;
  std::atomic<int> signal_{0};
  train::RunContext run_;
  train::TrainState state_;
  std::unique_ptr<train::Algorithm> average_;
};

/// Of one rank, all tensors after so many steps, by name.
inline Values values_of_one_rank(const MakeAverage& make_average, int num_steps) {
  const auto alone = comm::make_fake_communicator(0, 1);
  AveragedTraining training([](comm::Communicator&) { return parallel::make_none({}); }, *alone,
                            make_average);
  training.train(num_steps);
  Values values;
  for (const auto& shards : {training.averages(), training.weights(), training.optimizer_state()}) {
    for (const tensor::StateShard& shard : shards) values[shard.name] = shard.data.clone();
  }
  return values;
}

inline void expect_near(std::span<const tensor::StateShard> shards, const Values& wanted) {
  for (const tensor::StateShard& shard : shards) {
    const at::Tensor difference =
        shard.data.reshape({-1}) - elements_of(wanted.at(shard.name), shard);
    EXPECT_LE(difference.abs().max().item<double>(), 1e-10) << shard.name;
  }
}

/// Averages and weights of 2 and 4 ranks are those of one, under every strategy.
inline void expect_those_of_one_rank(const MakeAverage& make_average, int num_steps) {
  const Values wanted = values_of_one_rank(make_average, num_steps);
  for (const auto& [name, make] : main_strategies()) {
    SCOPED_TRACE(name);
    for (const int world_size : {2, 4}) {
      run_ranks(world_size, [&, &make = make](comm::Communicator& ranks) {
        AveragedTraining training(make, ranks, make_average);
        training.train(num_steps);
        expect_near(training.averages(), wanted);
        expect_near(training.weights(), wanted);
      });
    }
  }
}

/// A training of one rank goes on under every strategy on 4, from what it was after 5 steps, when
/// the algorithm had this state.
inline void expect_going_on(const MakeAverage& make_average, const nlohmann::json& state,
                            int num_steps) {
  constexpr int kSavedAfter = 5;
  const Values saved = values_of_one_rank(make_average, kSavedAfter);
  const Values wanted = values_of_one_rank(make_average, kSavedAfter + num_steps);
  for (const auto& [name, make] : main_strategies()) {
    SCOPED_TRACE(name);
    run_ranks(4, [&, &make = make](comm::Communicator& ranks) {
      AveragedTraining training(make, ranks, make_average);
      training.load(saved, kSavedAfter, state);
      training.train(num_steps);
      expect_near(training.averages(), wanted);
      expect_near(training.weights(), wanted);
    });
  }
}

}  // namespace paceline::test
