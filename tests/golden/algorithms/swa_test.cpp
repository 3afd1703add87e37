#include "paceline/algorithms/swa/swa.h"

#include "paceline/base/log.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/module_tree.h"
#include "paceline/nn/network.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"
#include "support/parity.h"
#include "support/small_net.h"

#include <array>
#include <atomic>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// Averages that Composer's SWA keeps of weights that are functions of the batch: make_swa.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::wave;
using train::Event;

constexpr double kSwaTolerance = 1e-6;

class SwaNet final : public nn::Network {
 public:
  SwaNet() {
    fc1_ = register_module("fc1", std::make_shared<nn::Linear>(2, 3));
    bn_ = register_module("bn", std::make_shared<nn::BatchNorm2d>(3));
    fc2_ = register_module("fc2", std::make_shared<nn::Linear>(3, 2));
    write(0);
  }
  at::Tensor forward(const tensor::Fields&, const nn::ForwardContext&) override { return {}; }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_sample(const nn::SampleSizes&) const override { return 0; }

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

SwaConfig swa_config(const json& options) {
  const auto duration = [&](const char* key) {
    return config::Duration::parse(options.at(key).get<std::string>());
  };
  return {.start = duration("swa_start"),
          .end = duration("swa_end"),
          .interval = duration("update_interval")};
}

/// Of all values by name, but for `prefix` before it.
void expect_named_values(std::span<const tensor::StateShard> shards, std::string_view prefix,
                         const json& wanted, const char* what) {
  std::size_t num_compared = 0;
  for (const tensor::StateShard& shard : shards) {
    if (!shard.data.is_floating_point()) continue;
    const std::string name = shard.name.substr(prefix.size());
    SCOPED_TRACE(name);
    const at::Tensor flat = shard.data.reshape({-1});
    ASSERT_EQ(flat.numel(), std::ssize(wanted.at(name)));
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      paceline::test::expect_reference("swa", what, flat[i].item<double>(),
                                       wanted[name][static_cast<std::size_t>(i)].get<double>(),
                                       kSwaTolerance);
    }
    ++num_compared;
  }
  EXPECT_EQ(num_compared, wanted.size());
}

void expect_swa_case(const json& golden) {
  SCOPED_TRACE(golden["options"].dump());
  const auto net = std::make_shared<SwaNet>();
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
                         .samples_per_step = 1};
  Swa swa(swa_config(golden["options"]));
  swa.apply(Event::kPrepared, state, run);
  const bool counts_epochs = swa.traits().events.contains(Event::kEpochEnd);
  auto wanted = golden["updates"].begin();
  for (std::int64_t batch = 1; batch <= state.clock.lengths.total_steps; ++batch) {
    net->write(batch);
    state.clock.step = batch;
    if (!counts_epochs) swa.apply(Event::kStepEnd, state, run);
    if (counts_epochs && state.clock.is_epoch_start()) swa.apply(Event::kEpochEnd, state, run);
    if (wanted == golden["updates"].end() || (*wanted)["batch"] != batch) continue;
    EXPECT_EQ(swa.has_weights(), !(*wanted)["is_loaded"].get<bool>());
    expect_named_values(swa.tensors(state), "algorithms.swa/", (*wanted)["average"],
                        "averaged weights");
    expect_named_values(state.strategy->model_state(), "", (*wanted)["model"], "trained weights");
    ++wanted;
  }
  EXPECT_TRUE(wanted == golden["updates"].end());
}

TEST(GoldenSwa, AveragesAreComposers) {
  const base::LogRedirection quiet([](base::LogLevel, std::string_view) {});
  const json golden = json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/swa.json"));
  for (const json& each : golden["cases"]) expect_swa_case(each);
}

}  // namespace
}  // namespace paceline::algorithms
