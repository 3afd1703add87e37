#include "paceline/nn/activation_checkpoint.h"

#include "paceline/base/error.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/unit.h"

#include <algorithm>

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

/// weight * sin(sin(... x)), normalised; keeps several tensors of the size of x for backward.
class Waves final : public Unit {
 public:
  Waves() {
    weight = register_parameter("weight", at::linspace(0.5, 1.5, 3).view({1, 3, 1, 1}));
    norm = register_module("norm", std::make_shared<BatchNorm2d>(3));
  }
  at::Tensor forward(const at::Tensor& x) {
    return run(x, [this](const at::Tensor& input) {
      ++runs;
      saw_bfloat16 = at::autocast::is_autocast_enabled(at::kCPU) &&
                     at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16;
      at::Tensor output = norm->forward(input);
      for (int i = 0; i < 4; ++i) output = at::sin(output) * weight;
      return output;
    });
  }

  at::Tensor weight;
  std::shared_ptr<BatchNorm2d> norm;
  int runs = 0;
  bool saw_bfloat16 = false;
};

class Chain final : public torch::nn::Module {
 public:
  explicit Chain(int length) {
    for (int i = 0; i < length; ++i)
      units.push_back(register_module(std::to_string(i), std::make_shared<Waves>()));
  }
  at::Tensor forward(at::Tensor x) const {
    for (const auto& unit : units) x = unit->forward(x);
    return x;
  }
  std::vector<int> runs() const {
    std::vector<int> counts;
    for (const auto& unit : units) counts.push_back(unit->runs);
    return counts;
  }

  std::vector<std::shared_ptr<Waves>> units;
};

at::Tensor waves_input() { return at::linspace(-2, 2, 4 * 3 * 16 * 16).view({4, 3, 16, 16}); }

/// Parameters' gradients, buffers and the gradient of the input, where they are defined.
std::vector<at::Tensor> train_chain(Chain& chain, const at::Tensor& input) {
  const at::Tensor output = chain.forward(input);
  (output * output).sum().backward();
  std::vector<at::Tensor> found{output.detach(), input.grad()};
  for (const auto& item : chain.named_parameters()) found.push_back(item->grad());
  for (const auto& item : chain.named_buffers()) found.push_back(item.value());
  return found;
}

void expect_same_bits(const std::vector<at::Tensor>& actual,
                      const std::vector<at::Tensor>& wanted) {
  ASSERT_EQ(actual.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(actual[i].defined(), wanted[i].defined()) << i;
    if (!wanted[i].defined()) continue;
    EXPECT_TRUE(at::equal(actual[i], wanted[i])) << i;
  }
}

TEST(ActivationCheckpoint, EveryKthUnitRunsAgainAndNoBitDiffers) {
  Chain plain(5);
  const std::vector<at::Tensor> wanted = train_chain(plain, waves_input().requires_grad_());
  EXPECT_EQ(plain.runs(), (std::vector<int>{1, 1, 1, 1, 1}));

  Chain all(5);
  EXPECT_EQ(set_activation_checkpointing(all, 1), 5);
  expect_same_bits(train_chain(all, waves_input().requires_grad_()), wanted);
  EXPECT_EQ(all.runs(), (std::vector<int>{2, 2, 2, 2, 2}));

  Chain second(5);
  EXPECT_EQ(set_activation_checkpointing(second, 2), 3);
  expect_same_bits(train_chain(second, waves_input().requires_grad_()), wanted);
  EXPECT_EQ(second.runs(), (std::vector<int>{2, 1, 2, 1, 2}));
}

TEST(ActivationCheckpoint, FrozenUnitsAtTheStartRunOnce) {
  const auto train_frozen = [](int every) {
    Chain chain(4);
    for (const int i : {0, 1}) {
      for (at::Tensor& parameter : chain.units[i]->parameters()) parameter.set_requires_grad(false);
    }
    if (every > 0) set_activation_checkpointing(chain, every);
    const std::vector<at::Tensor> found = train_chain(chain, waves_input());
    EXPECT_EQ(chain.runs(),
              (every > 0 ? std::vector<int>{1, 1, 2, 2} : std::vector<int>{1, 1, 1, 1}));
    return found;
  };
  expect_same_bits(train_frozen(1), train_frozen(0));
}

TEST(ActivationCheckpoint, AFrozenUnitInTheMiddlePassesTheGradientOn) {
  const auto train_frozen = [](bool is_checkpointed) {
    Chain chain(3);
    for (at::Tensor& parameter : chain.units[1]->parameters()) parameter.set_requires_grad(false);
    if (is_checkpointed) set_activation_checkpointing(chain, 1);
    return train_chain(chain, waves_input());
  };
  expect_same_bits(train_frozen(true), train_frozen(false));
}

/// x and what all units look at besides.
class Look final : public Unit {
 public:
  Look() { weight = register_parameter("weight", at::linspace(0.5, 1.5, 3)); }
  at::Tensor forward(const at::Tensor& x, const at::Tensor& seen, const at::Tensor& fixed) {
    return run_with({x, seen, fixed}, [this](const UnitWrapper::Inputs& inputs) {
      ++runs;
      return at::sin(inputs[0] * weight) + at::cos(inputs[1] * inputs[0]) * inputs[2];
    });
  }

  at::Tensor weight;
  int runs = 0;
};

TEST(ActivationCheckpoint, SeveralInputsReceiveTheirGradients) {
  const auto train_looks = [](bool is_checkpointed) {
    torch::nn::Module chain;
    std::vector<std::shared_ptr<Look>> looks;
    for (int i = 0; i < 3; ++i)
      looks.push_back(chain.register_module(std::to_string(i), std::make_shared<Look>()));
    if (is_checkpointed) set_activation_checkpointing(chain, 1);
    const at::Tensor start = at::linspace(-1, 1, 3).requires_grad_();
    const at::Tensor source = at::linspace(0, 2, 3).requires_grad_();
    const at::Tensor seen = source.exp();  // no leaf, and read by every unit
    at::Tensor x = start;
    for (const auto& look : looks) x = look->forward(x, seen, at::ones({3}));
    x.square().sum().backward();
    EXPECT_EQ(looks.front()->runs, is_checkpointed ? 2 : 1);
    std::vector<at::Tensor> found{x.detach(), start.grad(), source.grad()};
    for (const auto& look : looks) found.push_back(look->weight.grad());
    return found;
  };
  const auto plain = train_looks(false);
  const auto again = train_looks(true);
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(again[i].allclose(plain[i], 1e-6, 1e-7)) << i;
}

TEST(ActivationCheckpoint, WithoutGradientsNothingRunsAgain) {
  Chain chain(2);
  set_activation_checkpointing(chain, 1);
  const at::NoGradGuard no_grad;
  chain.forward(waves_input().requires_grad_());
  EXPECT_EQ(chain.runs(), (std::vector<int>{1, 1}));
}

TEST(ActivationCheckpoint, RunsAgainUnderTheSameAutocast) {
  Chain chain(1);
  set_activation_checkpointing(chain, 1);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const auto before = at::autocast::get_autocast_dtype(at::kCPU);
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  const at::Tensor output = chain.forward(waves_input());
  EXPECT_TRUE(at::autocast::is_autocast_cache_enabled());
  at::autocast::set_autocast_dtype(at::kCPU, before);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  chain.units[0]->saw_bfloat16 = false;
  output.sum().backward();
  EXPECT_TRUE(chain.units[0]->saw_bfloat16);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST(ActivationCheckpoint, AModelWithoutUnitsIsRefused) {
  torch::nn::Module root;
  root.register_module("norm", std::make_shared<BatchNorm2d>(3));
  EXPECT_THROW(set_activation_checkpointing(root, 1), base::ConfigError);
}

/// Counts the bytes that this thread's tensors hold.
class HeldBytes final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device) override {
    now += size;
    peak = std::max(peak, now);
  }
  bool memoryProfilingEnabled() const override { return true; }

  std::int64_t now = 0;
  std::int64_t peak = 0;
};

/// Two linear layers; the result of the second is the unit's.
class Perceptron final : public Unit {
 public:
  Perceptron() {
    weight = register_parameter("weight", at::linspace(-1, 1, 16 * 16).view({16, 16}));
    bias = register_parameter("bias", at::zeros({16}));
  }
  at::Tensor forward(const at::Tensor& x) const {
    return run(x, [this](const at::Tensor& input) {
      return linear(at::gelu(at::layer_norm(linear(input, weight, bias), {16})), weight, bias);
    });
  }
  at::Tensor weight, bias;
};

TEST(ActivationCheckpoint, AUnitThatEndsInAKeptResultHasItsGradientsAndIsFreed) {
  const auto train_units = [](std::optional<KeptResults> kept) {
    torch::nn::Module root;
    const auto first = root.register_module("first", std::make_shared<Perceptron>());
    const auto second = root.register_module("second", std::make_shared<Perceptron>());
    if (kept) set_activation_checkpointing(root, 1, *kept);
    const at::Tensor input = at::linspace(-2, 2, 64 * 16).view({64, 16});
    const auto held = std::make_shared<HeldBytes>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, held);
    { const at::Tensor dropped = second->forward(first->forward(input)); }
    EXPECT_EQ(held->now, 0);
    const at::Tensor loss = second->forward(first->forward(input)).square().sum();
    loss.backward();
    std::vector<at::Tensor> found{loss.detach()};
    for (const at::Tensor& parameter : root.parameters()) found.push_back(parameter.grad());
    // The loss holds the graph, which holds what was kept no longer.
    EXPECT_LT(held->now, 2 * static_cast<std::int64_t>(input.nbytes())) << kept.has_value();
    return found;
  };
  expect_same_bits(train_units(KeptResults::kMatmuls), train_units(std::nullopt));
}

TEST(ActivationCheckpoint, HoldsFewerBytes) {
  const auto measure = [](int every) {
    Chain chain(8);
    if (every > 0) set_activation_checkpointing(chain, every);
    const at::Tensor input = waves_input();
    const auto held = std::make_shared<HeldBytes>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, held);
    chain.forward(input).sum().backward();
    return held->peak / input.nbytes();
  };
  // Per unit the plain chain keeps nine tensors like the input, a checkpointed one its input.
  EXPECT_GT(measure(0), 8 * 8);
  EXPECT_LT(measure(2), 6 * 8);
  EXPECT_LT(measure(1), 3 * 8);
}

}  // namespace
}  // namespace paceline::nn
