// The average of N ranks is that of one, whatever the strategy, and goes from one to the other.

#include "paceline/algorithms/ema/ema.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"

#include <atomic>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::algorithms {
namespace {

using paceline::test::block_net_rules;
using paceline::test::BlockNet;
using paceline::test::elements_of;
using paceline::test::run_ranks;
using paceline::test::summed_loss;

using Values = std::map<std::string, at::Tensor>;

constexpr std::int64_t kBatch = 8;

/// A BlockNet that is trained and averaged on one rank.
class AveragedTraining {
 public:
  AveragedTraining(const test::MakeStrategy& make, comm::Communicator& ranks)
      : ranks_(ranks), net_(ranks.rank()), run_{ranks, {}, 1, {}, signal_} {
    state_.strategy = make(ranks);
    state_.strategy->prepare(net_, block_net_rules());
    state_.optimizer = optim::make_optimizer(optim::AdamWConfig{}, state_.strategy->param_groups());
    state_.clock.lengths = {.total_steps = 100, .steps_per_epoch = 10, .samples_per_step = kBatch};
    ema_.apply(train::Event::kPrepared, state_, run_);
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
      ema_.apply(train::Event::kStepEnd, state_, run_);
    }
  }

  void swap() { ema_.swap_weights(state_); }
  std::vector<tensor::StateShard> averages() const { return ema_.tensors(state_); }
  std::vector<tensor::StateShard> weights() { return state_.strategy->model_state(); }
  std::vector<tensor::StateShard> optimizer_state() {
    return state_.strategy->optimizer_state(*state_.optimizer);
  }

  /// Goes on from the whole tensors of another training.
  void load(const Values& saved, int num_steps) {
    const at::NoGradGuard no_grad;
    for (const auto& shards : {averages(), weights(), optimizer_state()}) {
      for (const tensor::StateShard& shard : shards)
        shard.data.copy_(elements_of(saved.at(shard.name), shard).view_as(shard.data));
    }
    state_.strategy->state_was_loaded();
    state_.clock.step = num_steps;
    state_.optimizer->set_num_steps(num_steps);
    ema_.load_state_dict(nlohmann::json{{"is_started", true}});
  }

 private:
  comm::Communicator& ranks_;
  BlockNet net_;
  std::atomic<int> signal_{0};
  train::RunContext run_;
  train::TrainState state_;
  Ema ema_{EmaConfig{.half_life = {{3, config::TimeUnit::kBatch}}}};
};

std::unique_ptr<parallel::Strategy> make_none(comm::Communicator&) {
  return parallel::make_none({});
}

/// Of one rank, all tensors after so many steps, by name.
Values values_of_one_rank(int num_steps) {
  const auto alone = comm::make_fake_communicator(0, 1);
  AveragedTraining training(make_none, *alone);
  training.train(num_steps);
  Values values;
  for (const auto& shards : {training.averages(), training.weights(), training.optimizer_state()}) {
    for (const tensor::StateShard& shard : shards) values[shard.name] = shard.data.clone();
  }
  return values;
}

void expect_near(std::span<const tensor::StateShard> shards, const Values& wanted) {
  for (const tensor::StateShard& shard : shards) {
    const at::Tensor difference =
        shard.data.reshape({-1}) - elements_of(wanted.at(shard.name), shard);
    EXPECT_LE(difference.abs().max().item<double>(), 1e-10) << shard.name;
  }
}

TEST(EmaOnRanks, IsThatOfOneRankUnderEveryStrategy) {
  const Values wanted = values_of_one_rank(7);
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    for (const int world_size : {2, 4}) {
      run_ranks(world_size, [&, &make = make](comm::Communicator& ranks) {
        AveragedTraining training(make, ranks);
        training.train(7);
        expect_near(training.averages(), wanted);
      });
    }
  }
}

TEST(EmaOnRanks, SwapsWhatForwardPassesSee) {
  const Values of_one = values_of_one_rank(7);
  Values averages;  // by the names of the weights
  for (const auto& [name, value] : of_one) {
    if (const auto slash = name.find("algorithms.ema/"); slash == 0)
      averages[name.substr(std::string("algorithms.ema/").size())] = value;
  }
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    run_ranks(2, [&, &make = make](comm::Communicator& ranks) {
      AveragedTraining training(make, ranks);
      training.train(7);
      training.swap();
      expect_near(training.weights(), averages);
      training.swap();
      expect_near(training.weights(), of_one);
      training.train(1);
      expect_near(training.averages(), values_of_one_rank(8));
    });
  }
}

TEST(EmaOnRanks, GoesOnUnderAnyStrategyAndNumberOfRanks) {
  const Values saved = values_of_one_rank(5);
  const Values wanted = values_of_one_rank(9);
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    run_ranks(4, [&, &make = make](comm::Communicator& ranks) {
      AveragedTraining training(make, ranks);
      training.load(saved, 5);
      training.train(4);
      expect_near(training.averages(), wanted);
      expect_near(training.weights(), wanted);
    });
  }
}

}  // namespace
}  // namespace paceline::algorithms
