#pragma once

// What the golden tests of averages of weights have in common: make_ema.py, make_swa.py,
// make_lookahead.py.

#include "golden/algorithms/golden_values.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/module_tree.h"
#include "paceline/nn/network.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"
#include "support/small_net.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace paceline::algorithms {

/// The scripts' network, whose values are functions of the number of batches.
class AveragedNet final : public nn::Network {
 public:
  AveragedNet() {
    fc1_ = register_module("fc1", std::make_shared<nn::Linear>(2, 3));
    bn_ = register_module("bn", std::make_shared<nn::BatchNorm2d>(3));
    fc2 = register_module("fc2", std::make_shared<nn::Linear>(3, 2));
    write(0);
  }
  at::Tensor forward(const tensor::Fields&, const nn::ForwardContext&) override { return {}; }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_sample(const nn::SampleSizes&) const override { return 0; }

  void write(std::int64_t batch) {
    using paceline::test::wave;
    const at::NoGradGuard no_grad;
    const auto phase = static_cast<double>(batch);
    double number = 0;
    for (const nn::NamedTensor& parameter : nn::named_parameters(*this))
      parameter.tensor.copy_(
          wave(parameter.tensor.sizes().vec(), 10 * number++ + phase, at::kDouble));
    bn_->running_mean.copy_(wave({3}, 70 + phase, at::kDouble));
    bn_->running_var.copy_(wave({3}, 80 + phase, at::kDouble) + 1);
  }

  std::shared_ptr<nn::Linear> fc2;

 private:
  std::shared_ptr<nn::Linear> fc1_;
  std::shared_ptr<nn::BatchNorm2d> bn_;
};

/// Has an algorithm go through a case's batches; `check` compares it and the state with each entry
/// of the case's "updates".
inline void follow_updates(
    const nlohmann::json& golden, const std::shared_ptr<AveragedNet>& net,
    train::Algorithm& algorithm,
    const std::function<void(const train::TrainState&, const nlohmann::json& wanted)>& check) {
  SCOPED_TRACE(golden["options"].dump());
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  train::TrainState state;
  state.task = std::make_unique<train::ClassificationTask>(net, nullptr);
  state.strategy = parallel::make_none({});
  const std::array rules{optim::GroupRule{"all", 0.0, 1.0, [](auto&&...) { return true; }}};
  state.strategy->prepare(*net, rules);
  state.clock.lengths = {.total_steps = golden["max_batches"],
                         .steps_per_epoch = golden["batches_per_epoch"],
                         .samples_per_step = golden.value("samples_per_step", std::int64_t{1})};
  for (const auto event : {train::Event::kPrepared, train::Event::kFitStart}) {
    if (algorithm.traits().events.contains(event)) algorithm.apply(event, state, run);
  }
  const bool counts_epochs = algorithm.traits().events.contains(train::Event::kEpochEnd);
  auto wanted = golden["updates"].begin();
  for (std::int64_t batch = 1; batch <= state.clock.lengths.total_steps; ++batch) {
    net->write(batch);
    state.clock.step = batch;
    if (!counts_epochs) algorithm.apply(train::Event::kStepEnd, state, run);
    if (counts_epochs && state.clock.is_epoch_start())
      algorithm.apply(train::Event::kEpochEnd, state, run);
    if (wanted == golden["updates"].end() || (*wanted)["batch"] != batch) continue;
    check(state, *wanted);
    ++wanted;
  }
  EXPECT_TRUE(wanted == golden["updates"].end());
}

/// Of all floating values by name, but for `prefix` before it; returns how many tensors those are.
inline std::size_t expect_named_values(const std::string& component, const char* quantity,
                                       std::span<const tensor::StateShard> shards,
                                       std::string_view prefix, const nlohmann::json& wanted) {
  std::size_t num_compared = 0;
  for (const tensor::StateShard& shard : shards) {
    if (!shard.data.is_floating_point()) continue;
    const std::string name = shard.name.substr(prefix.size());
    SCOPED_TRACE(name);
    expect_golden_values(component, quantity, shard.data, wanted.at(name), 1e-6);
    ++num_compared;
  }
  return num_compared;
}

}  // namespace paceline::algorithms
