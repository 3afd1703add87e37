// Training in bf16 and fp16 against torch.autocast and torch.amp.GradScaler; see
// make_mixed_precision.py.

#include "paceline/nn/batch_norm.h"
#include "paceline/nn/conv.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/layer_norm.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/module_tree.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/tasks/classification.h"
#include "support/image_batch.h"
#include "support/one_thread.h"
#include "support/parity.h"
#include "unit/train/scripted_run.h"

#include <array>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::train {
namespace {

using nlohmann::json;
using paceline::test::OneThread;
using paceline::test::ScriptedRun;

// A layer that computed in another type would change a loss by 1e-4 (fp16) or 6e-4 (bf16). Kernels
// for other instruction sets, which add in another order, change no loss; they round a few
// gradients of the reduced type otherwise.
constexpr double kLossTolerance = 1e-5;
constexpr double kStateTolerance = 1e-4;

constexpr std::int64_t kBatch = 8;
constexpr std::int64_t kClasses = 5;
constexpr std::int64_t kSize = 8;

float wave(std::int64_t index, double phase) {
  return static_cast<float>(0.5 * std::sin(0.7 * static_cast<double>(index) + phase));
}

class Net final : public nn::ImageNetwork {
 public:
  Net() {
    conv_ = register_module(
        "conv", std::make_shared<nn::Conv2d>(
                    3, 6, 3, nn::Conv2d::Options{.stride = 2, .padding = 1, .bias = true}));
    bn_ = register_module("bn", std::make_shared<nn::BatchNorm2d>(6));
    fc1_ = register_module("fc1", std::make_shared<nn::Linear>(6, 16));
    norm_ = register_module("norm", std::make_shared<nn::LayerNorm>(16, 1e-6));
    fc2_ = register_module("fc2", std::make_shared<nn::Linear>(16, kClasses));
    const at::NoGradGuard no_grad;
    double phase = 0;
    for (const nn::NamedTensor& item : nn::named_parameters(*this)) {
      const float base = item.name == "bn.weight" || item.name == "norm.weight" ? 1.0F : 0.0F;
      auto* values = item.tensor.mutable_data_ptr<float>();
      for (std::int64_t i = 0; i < item.tensor.numel(); ++i) values[i] = base + wave(i, phase);
      phase += 10.0;
    }
  }
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    const at::Tensor x = at::relu(bn_->forward(conv_->forward(images))).mean({2, 3});
    return fc2_->forward(at::gelu(norm_->forward(fc1_->forward(x))));
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> head_names() const override { return {"fc2"}; }

 private:
  std::shared_ptr<nn::Conv2d> conv_;
  std::shared_ptr<nn::BatchNorm2d> bn_;
  std::shared_ptr<nn::Linear> fc1_;
  std::shared_ptr<nn::LayerNorm> norm_;
  std::shared_ptr<nn::Linear> fc2_;
};

/// The images and labels of step n of the script.
class WaveLoader final : public data::DataLoader {
 public:
  std::int64_t batches_per_epoch() const override { return 1; }
  std::int64_t position() const override { return position_; }
  void seek(std::int64_t position) override { position_ = position; }
  void start() override {}
  bool is_ready() const override { return true; }
  std::unique_ptr<data::HostBatch> next() override {
    auto batch = paceline::test::image_batch(kBatch, kSize, kSize, /*channels_last=*/false);
    batch->indices.resize(kBatch);
    for (std::int64_t i = 0; i < kBatch * 3 * kSize * kSize; ++i)
      paceline::test::floats_of(*batch)[i] = wave(i, 3.0 + static_cast<double>(position_));
    for (std::int64_t i = 0; i < kBatch; ++i)
      paceline::test::labels_of(*batch)[i] = (i + position_) % kClasses;
    ++position_;
    return batch;
  }
  data::LoaderCounts counts() const override { return {}; }
  std::int64_t global_count_of(std::int64_t) const override { return kBatch; }

 private:
  std::int64_t position_ = 0;
};

class SameRate final : public optim::Schedule {
 public:
  std::string_view name() const override { return "same"; }
  double factor(std::int64_t) const override { return 1.0; }
};

/// Runs the script's steps with our trainer; `run` keeps their state and what was logged.
void train(const json& golden, ScriptedRun& run) {
  TrainState& state = run.state;
  state.task = std::make_unique<ClassificationTask>(
      std::make_shared<Net>(),
      std::make_shared<nn::CrossEntropy>(nn::CrossEntropyConfig{.label_smoothing = 0.1}));
  state.strategy = parallel::make_none({});
  const std::array rules{optim::GroupRule{"all", 0.01, 1.0, [](auto&&...) { return true; }}};
  state.strategy->prepare(state.task->network(), rules);
  state.optimizer = optim::make_optimizer(optim::SgdConfig{}, state.strategy->param_groups());
  run.config.precision = Precision::kBFloat16;
  if (golden["precision"] == "fp16") {
    const json& options = golden["grad_scaler"];
    run.scale_loss(
        {.init_scale = options["init_scale"], .growth_interval = options["growth_interval"]});
  }
  run.config.grad_clip_norm = 0.5;
  run.config.duration = {{{golden["num_steps"].get<double>(), config::TimeUnit::kBatch}}};
  Engine engine({}, {});
  metrics::MetricSink* const sinks[] = {&run.sink};
  const RunContext context{run.communicator, {}, 1, sinks, run.signal};
  WaveLoader loader;
  const SameRate schedule;
  Trainer({.state = state,
           .run = context,
           .engine = engine,
           .loader = loader,
           .schedule = schedule,
           .base_lr = 0.1},
          run.config)
      .fit();
}

void expect_case(const json& golden) {
  const auto precision = golden["precision"].get<std::string>();
  SCOPED_TRACE(precision);
  const OneThread one_thread;
  const auto communicator = comm::make_fake_communicator(0, 1);
  ScriptedRun run(*communicator);
  train(golden, run);

  for (std::size_t step = 0; step < run.sink.steps.size(); ++step) {
    const auto& values = run.sink.steps[step].second;
    SCOPED_TRACE(step);
    paceline::test::expect_reference("precision " + precision, "loss of each step",
                                     values.at("train/loss"), golden["losses"][step].get<double>(),
                                     kLossTolerance);
    if (run.state.scaler) {
      EXPECT_EQ(values.at("train/loss_scale"), golden["scales"][step].get<double>()) << step;
    }
  }
  EXPECT_EQ(run.sink.steps.size(), golden["losses"].size());
  for (const nn::NamedTensor& item : nn::state_dict(run.state.task->network())) {
    const json& wanted = golden["state"].at(item.name);
    const at::Tensor flat = item.tensor.detach().to(at::kDouble).flatten();
    ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(wanted.size()));
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      SCOPED_TRACE(item.name);
      paceline::test::expect_reference(
          "precision " + precision, "parameters after the steps", flat[i].item<double>(),
          wanted[static_cast<std::size_t>(i)].get<double>(), kStateTolerance);
    }
  }
}

TEST(MixedPrecisionGolden, StepsEqualTorchs) {
  const json cases = json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/mixed_precision.json"));
  ASSERT_EQ(cases.size(), 2U);
  for (const json& golden : cases) expect_case(golden);
}

}  // namespace
}  // namespace paceline::train
