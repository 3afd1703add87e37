#include "paceline/algorithms/ghost_batchnorm/ghost_batchnorm.h"

#include "golden/algorithms/golden_values.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/nn/module_tree.h"
#include "support/small_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

// What Composer's GhostBatchNorm computes: make_ghost_batchnorm.py.

namespace paceline::algorithms {
namespace {

using nlohmann::json;
using paceline::test::wave;

constexpr double kGhostTolerance = 1e-10;

void expect_ghost_values(const at::Tensor& got, const json& wanted, const char* what) {
  expect_golden_values("ghost_batchnorm", what, got, wanted, kGhostTolerance);
}

void expect_ghost_case(const json& golden) {
  const std::vector<std::int64_t> shape = golden["shape"];
  SCOPED_TRACE(golden["shape"].dump() + golden["ghost_batch_size"].dump());
  nn::BatchNorm2d norm(shape[1], 1e-5, golden["momentum"]);
  nn::set_dtype(norm, at::kDouble);
  EXPECT_EQ(set_ghost_batch_norm(norm, golden["ghost_batch_size"]), 1);
  {
    const at::NoGradGuard no_grad;
    norm.weight.copy_(wave({shape[1]}, 2) + 1);
    norm.bias.copy_(wave({shape[1]}, 3));
  }
  const at::Tensor x = wave(shape, 1).requires_grad_();
  const at::Tensor output = norm.forward(x);
  (output * wave(shape, 5)).sum().backward();
  norm.forward(wave(shape, 2));
  expect_ghost_values(output, golden["output"], "output");
  expect_ghost_values(x.grad(), golden["grad_input"], "gradient of the input");
  expect_ghost_values(norm.weight.grad(), golden["grad_weight"], "gradient of the weight");
  expect_ghost_values(norm.bias.grad(), golden["grad_bias"], "gradient of the bias");
  expect_ghost_values(norm.running_mean, golden["running_mean"], "running mean");
  expect_ghost_values(norm.running_var, golden["running_var"], "running variance");
  norm.eval();
  expect_ghost_values(norm.forward(wave(shape, 3)), golden["evaluated"], "output in evaluation");
}

TEST(GoldenGhostBatchNorm, NumbersAreComposers) {
  for (const json& each : golden_list("ghost_batchnorm.json", "cases")) expect_ghost_case(each);
}

}  // namespace
}  // namespace paceline::algorithms
