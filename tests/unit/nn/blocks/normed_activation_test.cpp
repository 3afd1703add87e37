#include "paceline/nn/blocks/normed_activation.h"

#include "paceline/nn/activation_checkpoint.h"
#include "paceline/nn/unit.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using NamedValues = std::vector<std::pair<std::string, at::Tensor>>;
using NormedForm = at::Tensor (*)(const BatchNorm2d&, const at::Tensor&, Activation,
                                  const at::Tensor&);

/// Numbers that float32 holds.
at::Tensor norm_wave(const std::vector<std::int64_t>& sizes, double step) {
  return at::arange(c10::multiply_integers(sizes), at::kDouble)
      .mul_(step)
      .sin_()
      .view(sizes)
      .to(at::kFloat)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

struct NormedCase {
  std::vector<std::int64_t> sizes = {3, 21, 9, 8};
  Activation activation = Activation::kNone;
  bool adds = false;
};

/// A norm whose channels differ, after some steps.
BatchNorm2d wavy_norm(std::int64_t channels, at::ScalarType type) {
  BatchNorm2d norm(channels, 1e-3, 0.05);
  const at::NoGradGuard no_grad;
  const at::Tensor places = at::arange(channels, at::kDouble);
  norm.weight.copy_(places.mul(0.7).sin() + 0.25);
  norm.bias.copy_(places.mul(1.7).cos());
  norm.running_mean.copy_(places.mul(0.9).cos());
  norm.to(type);
  return norm;
}

/// Output, running statistics and gradients of one step.
NamedValues normed_step(NormedForm form, const NormedCase& wanted, at::ScalarType type) {
  const BatchNorm2d norm = wavy_norm(wanted.sizes[1], type);
  const at::Tensor input = (norm_wave(wanted.sizes, 0.7) * 3.0 + 0.5).to(type).requires_grad_();
  const at::Tensor other = norm_wave(wanted.sizes, 1.3).to(type).requires_grad_();
  const at::Tensor output =
      form(norm, input, wanted.activation, wanted.adds ? other : at::Tensor());
  // Of sums that do not cancel.
  const at::Tensor grad = norm_wave(wanted.sizes, 0.37) + norm_wave(wanted.sizes, 0.7) * 0.3 + 0.5;
  output.backward(grad.to(type));
  NamedValues values{
      {"output", output.detach()},          {"running_mean", norm.running_mean},
      {"running_var", norm.running_var},    {"num_batches_tracked", norm.num_batches_tracked},
      {"input's gradient", input.grad()},   {"weight's gradient", norm.weight.grad()},
      {"bias's gradient", norm.bias.grad()}};
  if (wanted.adds) values.emplace_back("added's gradient", other.grad());
  return values;
}

double largest_difference(const at::Tensor& got, const at::Tensor& exact) {
  return (got.to(at::kDouble) - exact.to(at::kDouble)).abs().max().item<double>();
}

/// Within the tolerance of the same in float64, or, where a channel's values nearly agree, about as
/// near as its twin.
void expect_near(const NamedValues& got, const NamedValues& twins, const NamedValues& exact,
                 double tolerance) {
  ASSERT_EQ(got.size(), exact.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double largest = exact[i].second.abs().max().item<double>();
    EXPECT_GT(largest, 0.0) << exact[i].first;
    EXPECT_LE(
        largest_difference(got[i].second, exact[i].second),
        std::max(tolerance * largest, 1.5 * largest_difference(twins[i].second, exact[i].second)))
        << exact[i].first;
  }
}

std::vector<NormedCase> normed_cases() {
  std::vector<NormedCase> cases;
  // Channels that fill vectors or not, rows that fill groups and chunks or not, work for threads.
  const std::vector<std::vector<std::int64_t>> shapes{{3, 21, 9, 8},   {2, 1, 3, 5},
                                                      {1, 64, 56, 56}, {5, 40, 1, 1},
                                                      {1, 3000, 2, 1}, {2, 16, 37, 41}};
  for (const auto& sizes : shapes) {
    for (const Activation activation :
         {Activation::kNone, Activation::kRelu, Activation::kSilu, Activation::kHardswish}) {
      cases.push_back({sizes, activation, false});
      cases.push_back({sizes, activation, true});
    }
  }
  return cases;
}

bool is_one_node(const at::Tensor& output) {
  return output.grad_fn()->name().find("NormedActivation") != std::string::npos;
}

TEST(NormedActivation, EqualsItsOperations) {
  for (const NormedCase& wanted : normed_cases()) {
    SCOPED_TRACE(testing::PrintToString(wanted.sizes) + " activation " +
                 std::to_string(static_cast<int>(wanted.activation)) +
                 (wanted.adds ? ", added" : ""));
    const NamedValues exact = normed_step(normed_activation_by_operations, wanted, at::kDouble);
    const NamedValues twins = normed_step(normed_activation_by_operations, wanted, at::kFloat);
    expect_near(normed_step(normed_activation, wanted, at::kFloat), twins, exact, 1e-6);
    expect_near(normed_step(normed_activation, wanted, at::kDouble), exact, exact, 0.0);
  }
}

TEST(NormedActivation, DoesNotDependOnTheNumberOfThreads) {
  const NormedCase wanted{{4, 70, 40, 41}, Activation::kSilu, false};
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const NamedValues alone = normed_step(normed_activation, wanted, at::kFloat);
  at::set_num_threads(2);
  const NamedValues together = normed_step(normed_activation, wanted, at::kFloat);
  at::set_num_threads(before);
  for (std::size_t i = 0; i < alone.size(); ++i)
    EXPECT_TRUE(at::equal(alone[i].second, together[i].second)) << alone[i].first;
}

TEST(NormedActivation, IsOneNodeWhereItsPassesAreMadeForIt) {
  const at::Tensor input = norm_wave({2, 4, 3, 3}, 0.7).to(at::kFloat);
  BatchNorm2d norm(4);
  EXPECT_TRUE(is_one_node(normed_activation(norm, input, Activation::kRelu)));
  EXPECT_FALSE(is_one_node(normed_activation(norm, input, Activation::kSigmoid)));
  EXPECT_FALSE(is_one_node(normed_activation(norm, input.contiguous(), Activation::kRelu)));
  EXPECT_FALSE(is_one_node(normed_activation(norm, input, Activation::kSilu, input)));
  EXPECT_FALSE(is_one_node(normed_activation(norm, input.to(at::kBFloat16), Activation::kRelu)));
  norm.set_frozen(true);
  EXPECT_FALSE(is_one_node(normed_activation(norm, input, Activation::kRelu)));
  norm.set_frozen(false);
  norm.set_training_kernel([](const at::Tensor& x, const BatchNorm2d& self) {
    return x * self.weight.view({1, -1, 1, 1});
  });
  EXPECT_FALSE(is_one_node(normed_activation(norm, input, Activation::kRelu)));
}

TEST(NormedActivation, AnUnevenMeanCostsNoDigits) {
  // Far from zero, and the first rows far from the others.
  at::Tensor input = norm_wave({1, 20, 64, 64}, 0.7) + 300.0;
  input.slice(2, 0, 8).fill_(310.0);
  input = input.to(at::kFloat);
  const BatchNorm2d norm(20, 1e-5, 1.0);
  normed_activation(norm, input, Activation::kNone);
  const at::Tensor exact = input.to(at::kDouble).transpose(0, 1).flatten(1);
  EXPECT_TRUE(at::allclose(norm.running_var.to(at::kDouble), exact.var(1), 1e-6, 0.0));
  EXPECT_TRUE(at::allclose(norm.running_mean.to(at::kDouble), exact.mean(1), 2e-7, 0.0));
}

TEST(NormedActivation, NotANumberStaysInItsChannel) {
  for (const Activation activation :
       {Activation::kNone, Activation::kRelu, Activation::kSilu, Activation::kHardswish}) {
    const at::Tensor input = norm_wave({1, 20, 5, 5}, 0.7).to(at::kFloat);
    input.select(1, 18).select(1, 3).fill_(std::numeric_limits<float>::quiet_NaN());
    const at::Tensor output = normed_activation(BatchNorm2d(20), input, activation);
    EXPECT_TRUE(output.select(1, 18).isnan().all().item<bool>());
    EXPECT_EQ(output.isnan().sum().item<std::int64_t>(), 25);
  }
}

TEST(NormedActivation, TakesAGradientOfAnyLayout) {
  const at::Tensor input = norm_wave({2, 20, 6, 7}, 0.7).to(at::kFloat).requires_grad_();
  const at::Tensor twin = input.detach().clone().requires_grad_();
  normed_activation(BatchNorm2d(20), input, Activation::kSilu)
      .mean({2, 3})
      .square()
      .sum()
      .backward();
  normed_activation_by_operations(BatchNorm2d(20), twin, Activation::kSilu)
      .mean({2, 3})
      .square()
      .sum()
      .backward();
  EXPECT_TRUE(at::allclose(input.grad(), twin.grad(), 1e-4, 1e-6));
}

struct NormedUnit : Unit {
  NormedUnit() { norm = register_module("norm", std::make_shared<BatchNorm2d>(20)); }
  at::Tensor forward(const at::Tensor& input) const {
    return run(input, [this](const at::Tensor& x) {
      return normed_activation(*norm, x, Activation::kSilu);
    });
  }
  std::shared_ptr<BatchNorm2d> norm;
};

TEST(NormedActivation, ARecomputationMovesNoStatistics) {
  std::vector<at::Tensor> found;
  for (const bool again : {false, true}) {
    const auto tree = std::make_shared<torch::nn::Module>();
    const auto unit = tree->register_module("unit", std::make_shared<NormedUnit>());
    if (again) set_activation_checkpointing(*tree, 1, KeptResults::kNone);
    const at::Tensor input = norm_wave({2, 20, 6, 7}, 0.7).to(at::kFloat).requires_grad_();
    unit->forward(input).square().sum().backward();
    EXPECT_EQ(unit->norm->num_batches_tracked.item<std::int64_t>(), 1);
    found.push_back(at::cat({input.grad().flatten(), unit->norm->running_var}));
  }
  EXPECT_TRUE(at::equal(found[0], found[1]));
}

}  // namespace
}  // namespace paceline::nn
