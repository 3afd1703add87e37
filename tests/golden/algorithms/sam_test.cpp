#include "paceline/algorithms/sam/sam.h"

#include "paceline/nn/linear.h"
#include "paceline/nn/module_tree.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/sgd.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/train/run_context.h"
#include "paceline/train/train_state.h"
#include "support/parity.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <array>
#include <atomic>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// Weights after steps of Composer's SAM: make_sam.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::run_ranks;
using paceline::test::wave;
using train::Event;

constexpr double kSamTolerance = 1e-9;

class SamNet final : public torch::nn::Module {
 public:
  SamNet() {
    fc1_ = register_module("fc1", std::make_shared<nn::Linear>(3, 4));
    fc2_ = register_module("fc2", std::make_shared<nn::Linear>(4, 2));
    nn::set_dtype(*this, at::kDouble);
    const at::NoGradGuard no_grad;
    double number = 0;
    for (const nn::NamedTensor& parameter : nn::named_parameters(*this))
      parameter.tensor.copy_(wave(parameter.tensor.sizes().vec(), 10 * number++));
  }
  at::Tensor forward(const at::Tensor& x) const {
    return fc2_->forward(at::tanh(fc1_->forward(x)));
  }

 private:
  std::shared_ptr<nn::Linear> fc1_, fc2_;
};

/// One rank of a case.
class SamRank {
 public:
  SamRank(const json& golden, comm::Communicator& ranks)
      : golden_(golden),
        ranks_(ranks),
        sam_({.rho = golden["rho"], .epsilon = golden["epsilon"], .interval = golden["interval"]}),
        run_{ranks, {}, 1, {}, no_signal_} {
    const json& options = golden["options"];
    const std::array rules{optim::GroupRule{"all", options["weight_decay"].get<double>(), 1.0,
                                            [](auto&&...) { return true; }}};
    state_.strategy = parallel::make_ddp({}, ranks);
    state_.strategy->prepare(net_, rules);
    auto groups = state_.strategy->param_groups();
    state_.optimizer =
        golden["optimizer"] == "sgd"
            ? optim::make_optimizer(optim::SgdConfig{.momentum = options["momentum"]},
                                    std::move(groups))
            : optim::make_optimizer(optim::AdamWConfig{}, std::move(groups));
    sam_.apply(Event::kPrepared, state_, run_);
  }

  /// As the trainer does it; `failing_pass`: whose gradients are of no use, or 0.
  void step(int failing_pass) {
    if (const auto sum = sam_.extra_pass(state_)) {
      EXPECT_EQ(sum, train::PassSum::kOfThisRank);
      backward(/*reduces=*/false);
      state_.strategy->end_own_pass();
      if (failing_pass != 1) {
        EXPECT_EQ(sam_.after_extra_pass(state_).item<float>(), 0);
      }
    } else if (failing_pass == 1) {
      failing_pass = 2;  // the only one
    }
    if (failing_pass != 1) {
      backward(/*reduces=*/true);
      state_.strategy->finish_gradients();
      sam_.apply(Event::kGradientsReady, state_, run_);
    }
    if (failing_pass == 0) state_.strategy->update(*state_.optimizer, golden_["options"]["lr"]);
    state_.clock.step += 1;
  }

  void expect_weights(const json& wanted) {
    for (const tensor::StateShard& shard : state_.strategy->model_state()) {
      const at::Tensor flat = shard.data.reshape({-1});
      for (std::int64_t i = 0; i < flat.numel(); ++i) {
        SCOPED_TRACE(fmt::format("{} after step {}", shard.name, state_.clock.step));
        paceline::test::expect_reference(
            "sam", "weights after each step", flat[i].item<double>(),
            wanted.at(shard.name)[static_cast<std::size_t>(i)].get<double>(), kSamTolerance);
      }
    }
  }

 private:
  void backward(bool reduces) {
    const double phase = static_cast<double>(state_.clock.step + 1) + 100.0 * ranks_.rank();
    state_.strategy->begin_microbatch(/*is_first=*/true, reduces);
    const at::Tensor difference = net_.forward(wave({5, 3}, 3 + phase)) - wave({5, 2}, 50 + phase);
    state_.strategy->backward(difference.square().sum(), 1.0 / (10 * ranks_.world_size()));
  }

  const json& golden_;
  comm::Communicator& ranks_;
  SamNet net_;
  Sam sam_;
  const std::atomic<int> no_signal_{0};
  train::RunContext run_;
  train::TrainState state_;
};

TEST(GoldenSam, WeightsAreComposers) {
  const json golden = json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/sam.json"));
  for (const json& each : golden["cases"]) {
    SCOPED_TRACE(fmt::format("{}, rho {}, interval {}, {} ranks", each["optimizer"].dump(),
                             each["rho"].dump(), each["interval"].dump(), each["ranks"].dump()));
    run_ranks(each["ranks"].get<int>(), [&](comm::Communicator& ranks) {
      SamRank rank(each, ranks);
      for (std::size_t step = 0; step < each["steps"].size(); ++step) {
        rank.step(each["failures"].value(std::to_string(step + 1), 0));
        rank.expect_weights(each["steps"][step]["weights"]);
      }
    });
  }
}

}  // namespace
}  // namespace paceline::algorithms
