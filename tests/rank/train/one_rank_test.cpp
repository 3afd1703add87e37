// An fp16 overflow that one rank meets, through the real strategy.

#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated_strategy.h"
#include "support/run_ranks.h"
#include "unit/train/scripted_run.h"

#include <array>

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::OneWeight;
using paceline::test::run_ranks;
using paceline::test::ScriptedRun;

/// The loss is the sum of the weights per sample; where told so, also a root whose value is 0 and
/// whose gradient is not finite.
class RootModel final : public TrainModel {
 public:
  explicit RootModel(std::function<bool()> overflows) : overflows_(std::move(overflows)) {}
  nn::Network& network() override { return network_; }
  at::Tensor forward(const Batch&, const nn::ForwardContext&) override { return network_.weight; }
  at::Tensor loss(const at::Tensor& outputs, const Batch& batch) override {
    const at::Tensor loss = outputs.sum() * batch.size;
    return is_training_ && overflows_() ? loss + (outputs * 0).sqrt().sum() : loss;
  }
  std::span<const std::string> count_names() const override { return {}; }
  void count(const at::Tensor&, const Batch&, std::span<double>) override {}
  void set_training(bool is_training) override { is_training_ = is_training; }

 private:
  OneWeight network_;
  bool is_training_ = true;
  std::function<bool()> overflows_;
};

TEST(Overflow, OnOneRankSkipsTheStepOnAllRanks) {
  run_ranks(3, [](comm::Communicator& communicator) {
    ScriptedRun run(communicator);
    run.scale_loss({.init_scale = 1024});
    run.state.model = std::make_unique<RootModel>(
        [&] { return run.state.clock.step == 1 && communicator.rank() == 2; });
    run.state.strategy = parallel::make_ddp({}, communicator);
    const std::array rules{optim::GroupRule{"all", 0.0, 1.0, [](auto&&...) { return true; }}};
    run.state.strategy->prepare(run.state.model->network(), rules);
    run.state.optimizer =
        optim::make_optimizer(optim::SgdConfig{.momentum = 0}, run.state.strategy->param_groups());
    run.config.log_accuracy = false;
    run.fit();

    EXPECT_EQ(run.state.clock.step, 3);
    EXPECT_EQ(run.state.optimizer->num_steps(), 2);
    EXPECT_EQ(run.state.scaler->scale(), 512.0);
    // The mean gradient is 1: a step at 0.1, one left out, one at 0.05.
    const at::Tensor weight = dynamic_cast<OneWeight&>(run.state.model->network()).weight;
    EXPECT_TRUE(at::allclose(weight, at::full({1, 2}, 0.85), 1e-6, 1e-7)) << weight;
  });
}

}  // namespace
}  // namespace paceline::train
