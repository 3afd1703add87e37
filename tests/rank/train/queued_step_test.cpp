// Steps on a device that queues its work, through the real strategies: the numbers of the CPU to
// the last bit, one wait a step, and nothing that a GPU would refuse.

#include "paceline/nn/batch_norm.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/module_tree.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/sgd.h"
#include "paceline/train/tasks/classification.h"
#include "support/block_net.h"
#include "support/gpu_communicator.h"
#include "support/queued_device.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "unit/train/scripted_run.h"

#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>

#include <ATen/DeviceAccelerator.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::GpuCommunicator;
using paceline::test::QueuedDevice;
using paceline::test::run_ranks;
using paceline::test::ScriptedRun;
using testing::Each;
using testing::Eq;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A convolution, a norm with running statistics, two blocks that strategies gather, and a head.
class MixedNet : public nn::ImageNetwork {
 public:
  MixedNet() {
    stem = register_parameter("stem", test::wave({6, 3, 2, 2}, 1, at::kFloat));
    norm = register_module("norm", std::make_shared<nn::BatchNorm2d>(6));
    at::NoGradGuard no_grad;
    norm->weight.fill_(1);
    norm->bias.fill_(0);
    for (int i = 0; i < 2; ++i) {
      blocks.push_back(register_module("block" + std::to_string(i),
                                       std::make_shared<test::LinearBlock>(6, i, at::kFloat)));
    }
    head = register_parameter("head", test::wave({3, 6}, 4, at::kFloat));
  }
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    at::Tensor x = norm->forward(at::conv2d(images, stem, {}, 1, 1)).relu().mean({2, 3});
    for (const auto& block : blocks) x = block->forward(x);
    return at::linear(x, head);
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  std::vector<std::string> head_names() const override { return {"head"}; }

  at::Tensor stem, head;
  std::shared_ptr<nn::BatchNorm2d> norm;
  std::vector<std::shared_ptr<test::LinearBlock>> blocks;
};

/// Has one more parameter, which a rank uses in every third of its steps, another one each.
class SparingNet final : public MixedNet {
 public:
  explicit SparingNet(int rank) : rank_(rank) {
    spare = register_parameter("spare", test::wave({3}, 5, at::kFloat));
  }
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override {
    const at::Tensor logits = MixedNet::forward_images(images, context);
    return (context.step + rank_) % 3 == 0 ? logits + spare : logits;
  }

  at::Tensor spare;

 private:
  int rank_;
};

using MakeOptimizer =
    std::function<std::unique_ptr<optim::Optimizer>(std::vector<optim::ParamGroup>)>;

std::unique_ptr<optim::Optimizer> make_adamw(std::vector<optim::ParamGroup> groups) {
  return optim::make_optimizer(optim::AdamWConfig{}, std::move(groups));
}

std::unique_ptr<optim::Optimizer> make_sgd(std::vector<optim::ParamGroup> groups) {
  return optim::make_optimizer(optim::SgdConfig{.momentum = 0.9, .nesterov = true},
                               std::move(groups));
}

class LargeLoss final : public nn::Loss {
 public:
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override {
    return at::cross_entropy_loss(outputs, targets, {}, at::Reduction::None) * 1e4;
  }
};

struct SteppedRunParts {
  MakeOptimizer make_optimizer = make_adamw;
  std::shared_ptr<nn::Loss> loss = std::make_shared<nn::CrossEntropy>(nn::CrossEntropyConfig{});
  std::int64_t num_samples = 32;  ///< in batches of 8
  bool is_sparing = false;        ///< of a SparingNet
};

/// A run of eight steps of a MixedNet on one rank.
class SteppedRun {
 public:
  SteppedRun(const test::MakeStrategy& make, comm::Communicator& communicator,
             tensor::Device& device, const SteppedRunParts& parts = {})
      : run_(communicator, parts.num_samples, 8, {}, device) {
    const auto net = parts.is_sparing ? std::make_shared<SparingNet>(communicator.rank())
                                      : std::make_shared<MixedNet>();
    nn::set_device(*net, device.place());
    run_.state.task = std::make_unique<ClassificationTask>(net, parts.loss);
    run_.state.strategy = make(communicator);
    const std::array rules{optim::GroupRule{"all", 0.01, 1.0, [](auto&&...) { return true; }}};
    run_.state.strategy->prepare(*net, rules);
    run_.state.optimizer = parts.make_optimizer(run_.state.strategy->param_groups());
    run_.config.eval_every = {100, config::TimeUnit::kBatch};
    run_.config.duration = {{{8, config::TimeUnit::kBatch}}};
  }
  ScriptedRun* operator->() { return &run_; }

  /// By name, on the CPU.
  std::map<std::string, at::Tensor> state() {
    std::map<std::string, at::Tensor> state;
    const auto take = [&state](const std::vector<tensor::StateShard>& shards) {
      for (const auto& shard : shards) state[shard.name] = shard.data.to(at::kCPU).clone();
    };
    take(run_.state.strategy->model_state());
    take(run_.state.strategy->optimizer_state(*run_.state.optimizer));
    return state;
  }

  std::vector<double> losses() const {
    std::vector<double> losses;
    for (const auto& [at, values] : run_.sink.steps) losses.push_back(values.at("train/loss"));
    return losses;
  }

 private:
  ScriptedRun run_;
};

/// What each step but the first, which describes its input, did on a queued device.
struct StepCosts {
  std::vector<int> waits;
  std::vector<int> pageable_copies;
  std::vector<int> host_collectives;
};

void count_costs(SteppedRun& run, QueuedDevice& device, GpuCommunicator& ranks, StepCosts& costs) {
  run->watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
    if (event != Event::kStepEnd) return std::nullopt;
    if (state.clock.step > 1) {
      costs.waits.push_back(device.gpu().counts().waits);
      costs.pageable_copies.push_back(device.gpu().counts().pageable_copies);
      costs.host_collectives.push_back(ranks.num_host_collectives);
    }
    device.gpu().reset_counts();
    ranks.num_host_collectives = 0;
    return std::nullopt;
  };
}

void expect_same(const std::map<std::string, at::Tensor>& one,
                 const std::map<std::string, at::Tensor>& other) {
  ASSERT_EQ(one.size(), other.size());
  for (const auto& [name, values] : one) EXPECT_TRUE(values.equal(other.at(name))) << name;
}

/// Where norms of gradients are taken, which the host sums in another order than a device.
void expect_close(SteppedRun& one, SteppedRun& other) {
  constexpr double kRelative = 1e-6;
  const auto state = one.state(), others = other.state();
  ASSERT_EQ(state.size(), others.size());
  for (const auto& [name, values] : state)
    EXPECT_TRUE(at::allclose(values, others.at(name), kRelative, kRelative)) << name;
  const std::vector<double> losses = one.losses(), other_losses = other.losses();
  ASSERT_EQ(losses.size(), other_losses.size());
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_NEAR(losses[i], other_losses[i], kRelative * losses[i]) << i;
}

using Change = std::function<void(ScriptedRun& run)>;

void expect_cheap_steps_with_the_numbers_of_the_cpu(int world_size, const test::MakeStrategy& make,
                                                    const Change& change,
                                                    const SteppedRunParts& parts = {}) {
  run_ranks(world_size, [&](comm::Communicator& communicator) {
    SteppedRun now(make, communicator, tensor::cpu_device(), parts);
    change(*now.operator->());
    now->fit();

    GpuCommunicator ranks(communicator);
    QueuedDevice device(communicator.rank());
    SteppedRun queued(make, ranks, device, parts);
    change(*queued.operator->());
    StepCosts costs;
    count_costs(queued, device, ranks, costs);
    queued->fit();

    if (now->config.grad_clip_norm || now->config.grad_clip_adaptive) {
      expect_close(queued, now);
    } else {
      EXPECT_EQ(queued.losses(), now.losses());
      expect_same(queued.state(), now.state());
    }
    EXPECT_THAT(costs.waits, Each(Eq(1)));
    EXPECT_THAT(costs.pageable_copies, Each(Eq(0)));
    EXPECT_THAT(costs.host_collectives, Each(Eq(0)));
    EXPECT_EQ(costs.waits.size(), 7u);
  });
}

std::unique_ptr<parallel::Strategy> make_none(comm::Communicator&) {
  return parallel::make_none({});
}

void clip_and_accumulate(ScriptedRun& run) {
  run.config.grad_accum_steps = 2;
  run.config.grad_clip_norm = 0.5;
  run.config.grad_clip_value = 0.1;
}

TEST(QueuedStep, IsTheCpusAndWaitsOnce) {
  for (const MakeOptimizer& optimizer : {MakeOptimizer(make_adamw), MakeOptimizer(make_sgd)}) {
    for (const Change& change : {Change([](ScriptedRun&) {}), Change(clip_and_accumulate)})
      expect_cheap_steps_with_the_numbers_of_the_cpu(1, make_none, change,
                                                     {.make_optimizer = optimizer});
  }
}

void clip_adaptively(ScriptedRun& run) { run.config.grad_clip_adaptive = {.threshold = 0.05}; }

TEST(QueuedStep, IsTheCpusAndWaitsOnceUnderEveryStrategy) {
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    expect_cheap_steps_with_the_numbers_of_the_cpu(2, make, clip_and_accumulate);
    expect_cheap_steps_with_the_numbers_of_the_cpu(2, make, clip_adaptively);
  }
}

TEST(QueuedStep, WaitsOnceThoughParametersMayBeUnused) {
  const auto make = [](comm::Communicator& ranks) {
    return parallel::make_ddp({.allow_unused_parameters = true}, ranks);
  };
  for (const bool is_sparing : {false, true}) {
    expect_cheap_steps_with_the_numbers_of_the_cpu(
        2, make, [](ScriptedRun& run) { run.config.log_grad_norm = 1; },
        {.is_sparing = is_sparing});
  }
}

TEST(QueuedStep, WaitsOnceThoughARankHasNoSamples) {
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    expect_cheap_steps_with_the_numbers_of_the_cpu(2, make, clip_and_accumulate,
                                                   {.num_samples = 25});
  }
}

TEST(QueuedStep, IsRecordedAndReplayedWithTheSameNumbers) {
  for (const int world_size : {1, 2}) {
    const auto make = [](comm::Communicator& ranks) -> std::unique_ptr<parallel::Strategy> {
      return parallel::make_ddp({}, ranks);
    };
    run_ranks(world_size, [&](comm::Communicator& communicator) {
      GpuCommunicator ranks(communicator);
      QueuedDevice device(communicator.rank());
      SteppedRun direct(make, ranks, device);
      direct->config.grad_accum_steps = 2;
      direct->fit();
      device.calls.clear();
      SteppedRun replayed(make, ranks, device);
      replayed->config.grad_accum_steps = 2;
      replayed->config.compile = Compile::kGraph;
      StepCosts costs;
      count_costs(replayed, device, ranks, costs);
      replayed->watched = {Event::kStepEnd};
      replayed->fit();
      EXPECT_EQ(std::ranges::count(device.calls, "replay"), 5) << "after three warm-ups";
      EXPECT_EQ(replayed.losses(), direct.losses());
      expect_same(replayed.state(), direct.state());
      EXPECT_THAT(costs.waits, Each(Eq(1)));
      EXPECT_THAT(costs.host_collectives, Each(Eq(0)));
    });
  }
}

/// Doubles every second microbatch's images, and each third step's.
class Brighten final : public Algorithm {
 public:
  std::string_view name() const override { return "brighten"; }
  AlgorithmTraits traits() const override { return {.events = {}, .transforms_batches = true}; }
  void apply(Event, TrainState&, const RunContext&) override {}
  void transform(Batch& batch, TrainState& state, const RunContext&) override {
    const double factor = state.clock.step % 3 == 0 || batch.first_position % 4 == 0 ? 2 : 1;
    batch.fields.set(kImages, batch.fields.at(kImages) * factor);
    batch.fields.set(kTargets, batch.fields.at(kLabels).remainder(2));
  }
};

TEST(QueuedStep, IsRecordedBesideAnAlgorithmThatTransformsBatches) {
  const auto make = [](comm::Communicator& ranks) { return parallel::make_ddp({}, ranks); };
  run_ranks(2, [&](comm::Communicator& communicator) {
    const auto fit = [](SteppedRun& run) {
      run->config.grad_accum_steps = 2;
      run->watched = {Event::kStepEnd};
      run->make_algorithms = [] {
        std::vector<std::unique_ptr<Algorithm>> algorithms;
        algorithms.push_back(std::make_unique<Brighten>());
        return algorithms;
      };
      run->fit();
    };
    SteppedRun now(make, communicator, tensor::cpu_device());
    fit(now);
    GpuCommunicator ranks(communicator);
    QueuedDevice device(communicator.rank());
    SteppedRun replayed(make, ranks, device);
    replayed->config.compile = Compile::kGraph;
    fit(replayed);
    EXPECT_EQ(std::ranges::count(device.calls, "replay"), 5);
    EXPECT_EQ(replayed.losses(), now.losses());
    expect_same(replayed.state(), now.state());
  });
}

TEST(QueuedStep, ThatIsRecordedTrainsTheSameParameters) {
  const auto make = [](comm::Communicator& ranks) { return parallel::make_ddp({}, ranks); };
  run_ranks(1, [&](comm::Communicator& communicator) {
    GpuCommunicator ranks(communicator);
    QueuedDevice device;
    SteppedRun run(make, ranks, device);
    run->config.compile = Compile::kGraph;
    run->watched = {Event::kStepEnd};
    run->watch = [&](Event, const TrainState& state) -> std::optional<std::string> {
      if (state.clock.step == 5)
        run->state.strategy->set_trainable([](const std::string& name) { return name != "stem"; });
      return std::nullopt;
    };
    EXPECT_THAT([&] { run->fit(); },
                ThrowsMessage<base::ConfigError>(HasSubstr("train.compile: graph")));
  });
}

TEST(QueuedStep, IsReplayedOnAfterOneThatLeftARankWithoutSamples) {
  const auto make = [](comm::Communicator& ranks) { return parallel::make_ddp({}, ranks); };
  run_ranks(2, [&](comm::Communicator& communicator) {
    const SteppedRunParts parts{.num_samples = 25};
    SteppedRun now(make, communicator, tensor::cpu_device(), parts);
    now->fit();
    GpuCommunicator ranks(communicator);
    QueuedDevice device(communicator.rank());
    SteppedRun replayed(make, ranks, device, parts);
    replayed->config.compile = Compile::kGraph;
    replayed->watched = {Event::kStepEnd};
    replayed->fit();
    EXPECT_EQ(std::ranges::count(device.calls, "replay"), 3) << "the steps 5 to 7";
    EXPECT_EQ(replayed.losses(), now.losses());
    expect_same(replayed.state(), now.state());
  });
}

TEST(QueuedStep, ThatOverflowsIsSkippedWithoutAnotherWait) {
  run_ranks(1, [](comm::Communicator& communicator) {
    GpuCommunicator ranks(communicator);
    QueuedDevice device;
    SteppedRun run(make_none, ranks, device, {.loss = std::make_shared<LargeLoss>()});
    run->scale_loss({.init_scale = 1e35});  // the gradients are beyond float32
    StepCosts costs;
    count_costs(run, device, ranks, costs);
    run->fit();
    EXPECT_GT(run->state.scaler->num_skipped(), 0);
    EXPECT_LT(run->state.scaler->num_skipped(), 8);
    EXPECT_EQ(run->state.optimizer->num_steps(), 8 - run->state.scaler->num_skipped());
    EXPECT_THAT(costs.waits, Each(Eq(1)));
    for (const auto& [name, values] : run.state())
      EXPECT_TRUE(values.isfinite().all().is_nonzero()) << name;
  });
}

TEST(QueuedStep, WhoseLossIsNotFiniteIsNotAppliedOnAnyRank) {
  for (const auto& [name, make] : test::main_strategies()) {
    SCOPED_TRACE(name);
    run_ranks(2, [&, &make = make](comm::Communicator& communicator) {
      GpuCommunicator ranks(communicator);
      QueuedDevice device(communicator.rank());
      SteppedRun run(make, ranks, device);
      std::map<std::string, at::Tensor> before;
      run->watch = [&](Event event, const TrainState& state) -> std::optional<std::string> {
        if (event == Event::kStepStart && state.clock.step == 2) {
          before = run.state();
          if (communicator.rank() == 1)
            state.batch.fields.at(kImages).fill_(std::numeric_limits<float>::quiet_NaN());
        }
        return std::nullopt;
      };
      EXPECT_THAT([&] { run->fit(); },
                  ThrowsMessage<base::DivergedError>(testing::AllOf(
                      HasSubstr("the loss of step 3"), HasSubstr("on rank 1 with samples"),
                      testing::Not(HasSubstr("on rank 0")))));
      EXPECT_EQ(run->state.optimizer->num_steps(), 2);
      auto after = run.state();
      // Running statistics are the forward pass's.
      for (auto* const state : {&before, &after})
        std::erase_if(*state, [](const auto& item) {
          return item.first.starts_with("norm.running") || item.first.starts_with("norm.num");
        });
      expect_same(after, before);
    });
  }
}

// LibTorch wants one kind of accelerator in a process, and the tests that need a GPU have this one
// linked beside it.
TEST(QueuedDeviceDeathTest, IsNoAcceleratorBeforeItIsUsed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // in a process of its own
  EXPECT_EXIT(std::exit(at::getAccelerator(/*checked=*/false).has_value() ? 1 : 0),
              testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        const QueuedDevice device;
        std::exit(at::getAccelerator(/*checked=*/false) == at::kHPU ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace paceline::train
