#include "paceline/algorithms/ema/ema.h"

#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/module_tree.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/parity.h"
#include "support/small_net.h"

#include <array>
#include <atomic>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// Averages that Composer's EMA keeps of weights that are functions of the batch: make_ema.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::wave;
using train::Event;

constexpr double kTolerance = 1e-6;

class Net final : public torch::nn::Module {
 public:
  Net() {
    fc1_ = register_module("fc1", std::make_shared<nn::Linear>(2, 3));
    bn_ = register_module("bn", std::make_shared<nn::BatchNorm2d>(3));
    fc2_ = register_module("fc2", std::make_shared<nn::Linear>(3, 2));
    fc2_->bias.set_requires_grad(false);
    write(0);
  }

  void write(std::int64_t batch) {
    const at::NoGradGuard no_grad;
    const auto phase = static_cast<double>(batch);
    double number = 0;
    for (const nn::NamedTensor& parameter : nn::named_parameters(*this))
      parameter.tensor.copy_(
          wave(parameter.tensor.sizes().vec(), 10 * number++ + phase, at::kDouble));
    bn_->running_mean.copy_(wave({3}, 70 + phase, at::kDouble));
    bn_->running_var.copy_(wave({3}, 80 + phase, at::kDouble) + 1);
  }

 private:
  std::shared_ptr<nn::Linear> fc1_, fc2_;
  std::shared_ptr<nn::BatchNorm2d> bn_;
};

std::optional<config::Duration> duration_of(const json& options, const char* key) {
  if (!options.contains(key) || options[key].is_null()) return std::nullopt;
  return config::Duration::parse(options[key].get<std::string>());
}

EmaConfig config_of(const json& options) {
  EmaConfig config;
  config.half_life = duration_of(options, "half_life");
  config.update_interval = duration_of(options, "update_interval");
  config.start = duration_of(options, "ema_start").value_or(config.start);
  if (options.contains("smoothing")) config.smoothing = options["smoothing"].get<double>();
  return config;
}

void expect_average(const Ema& ema, const train::TrainState& state, const json& wanted) {
  std::size_t num_compared = 0;
  for (const tensor::StateShard& shard : ema.tensors(state)) {
    const std::string name = shard.name.substr(std::string("algorithms.ema/").size());
    const at::Tensor flat = shard.data.reshape({-1});
    ASSERT_EQ(flat.numel(), std::ssize(wanted.at(name))) << name;
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      SCOPED_TRACE(name);
      paceline::test::expect_reference("ema", "averaged weights", flat[i].item<double>(),
                                       wanted[name][static_cast<std::size_t>(i)].get<double>(),
                                       kTolerance);
    }
    ++num_compared;
  }
  EXPECT_EQ(num_compared, wanted.size() - 1) << "all but the count of batches";
}

void expect_case(const json& golden) {
  SCOPED_TRACE(golden["options"].dump());
  Net net;
  const auto communicator = comm::make_fake_communicator(0, 1);
  const std::atomic<int> no_signal{0};
  const train::RunContext run{*communicator, {}, 1, {}, no_signal};
  train::TrainState state;
  state.strategy = parallel::make_none({});
  const std::array rules{optim::GroupRule{"all", 0.0, 1.0, [](auto&&...) { return true; }}};
  state.strategy->prepare(net, rules);
  state.clock.lengths = {.total_steps = golden["max_batches"],
                         .steps_per_epoch = golden["batches_per_epoch"],
                         .samples_per_step = 1};
  Ema ema(config_of(golden["options"]));
  ema.apply(Event::kPrepared, state, run);
  const bool counts_epochs = ema.traits().events.contains(Event::kEpochEnd);
  auto wanted = golden["updates"].begin();
  for (std::int64_t batch = 1; batch <= state.clock.lengths.total_steps; ++batch) {
    net.write(batch);
    state.clock.step = batch;
    if (!counts_epochs) ema.apply(Event::kStepEnd, state, run);
    if (counts_epochs && state.clock.is_epoch_start()) ema.apply(Event::kEpochEnd, state, run);
    if (wanted == golden["updates"].end() || (*wanted)["batch"] != batch) continue;
    EXPECT_TRUE(ema.has_weights());
    expect_average(ema, state, (*wanted)["average"]);
    ++wanted;
  }
  EXPECT_TRUE(wanted == golden["updates"].end());
}

TEST(GoldenEma, AveragesAreComposers) {
  const json golden = json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/ema.json"));
  for (const json& each : golden["cases"]) expect_case(each);
}

}  // namespace
}  // namespace paceline::algorithms
