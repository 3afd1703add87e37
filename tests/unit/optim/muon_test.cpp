#include "paceline/optim/muon.h"

#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

at::Tensor waves(std::vector<std::int64_t> sizes) {
  const std::int64_t numel = c10::multiply_integers(sizes);
  return at::sin(at::arange(numel, at::kDouble) * 0.7).view(sizes);
}

TEST(Orthogonalise, BringsSingularValuesNearOne) {
  for (const auto& sizes : {std::vector<std::int64_t>{4, 12}, {12, 4}, {8, 8}, {1, 6}}) {
    const at::Tensor matrix = waves(sizes) + 0.1 * at::eye(sizes[0], sizes[1], at::kDouble);
    const at::Tensor step = orthogonalise(matrix * 1e-3, 10, 1e-7);
    EXPECT_EQ(step.sizes(), matrix.sizes());
    const auto values = std::get<1>(at::linalg_svd(step.to(at::kDouble)));
    const auto wanted = std::get<1>(at::linalg_svd(matrix));
    // What is far below the largest has not come up yet.
    const at::Tensor is_there = wanted > 0.05 * wanted.max();
    EXPECT_LT(values.max().item<double>(), 1.5);
    EXPECT_GT(values.masked_select(is_there).min().item<double>(), 0.5);
  }
}

TEST(Orthogonalise, OfZerosIsZeros) {
  EXPECT_TRUE(
      at::equal(orthogonalise(at::zeros({3, 5}), 5, 1e-7).to(at::kFloat), at::zeros({3, 5})));
}

TEST(Muon, StepsWhatIsListedAndVectorsAsAdamW) {
  const auto plan = make(MuonConfig{.adamw = {"head.weight", "blocks.*.gate"}});
  const auto is_matrix = [&](const std::string& name, const std::vector<std::int64_t>& sizes) {
    return plan->rules[match_rule(plan->rules, name, at::empty(sizes))].is_matrix;
  };
  EXPECT_TRUE(is_matrix("blocks.0.attn.qkv.weight", {6, 2}));
  EXPECT_TRUE(is_matrix("conv1.weight", {8, 3, 3, 3}));
  EXPECT_FALSE(is_matrix("blocks.0.norm1.weight", {2}));
  EXPECT_FALSE(is_matrix("blocks.0.gate", {2, 2}));
}

TEST(Muon, AListedNameIsThatOfTheWholeParameterOrItsLastPart) {
  const auto plan = make(MuonConfig{});
  const auto is_matrix = [&](const std::string& name) {
    return plan->rules[match_rule(plan->rules, name, at::empty({3, 4}))].is_matrix;
  };
  EXPECT_FALSE(is_matrix("head.weight"));
  EXPECT_FALSE(is_matrix("fc.weight"));
  EXPECT_FALSE(is_matrix("pos_embed"));
  EXPECT_TRUE(is_matrix("blocks.1.mlp.fc1.weight"));
}

/// A matrix and a vector, trained as one rank has them.
struct Parameters {
  at::Tensor matrix = waves({4, 3}), vector = waves({5});
  at::Tensor matrix_grad = waves({4, 3}) * 0.3 - 0.1, vector_grad = waves({5}) + 0.2;

  std::vector<ParamGroup> groups() const {
    return {{.name = "matrices",
             .weight_decay = 0.1,
             .slots = {{matrix, matrix_grad}},
             .is_matrix = true},
            {.name = "rest", .slots = {{vector, vector_grad}}}};
  }
};

TEST(Muon, ARankWithPartOfAMatrixMovesItAsTheWhole) {
  const Parameters whole;
  make_optimizer(MuonConfig{}, whole.groups())->step(0.1);

  // Elements [0, 5) are here; the other rank's come by the sum.
  const Parameters all;
  const at::Tensor part = all.matrix.flatten().narrow(0, 0, 5).clone();
  const at::Tensor part_grad = all.matrix_grad.flatten().narrow(0, 0, 5).clone();
  int sums = 0;
  const auto add_others = [&](const at::Tensor& values) {
    if (sums++ > 0) return;  // the step is made here, by rank 0
    const at::Tensor grad = all.matrix_grad.flatten().narrow(0, 5, 7);
    const at::Tensor momentum = grad * (1 - 0.95);
    values.narrow(0, 5, 7).copy_(grad.lerp(momentum, 0.95));
  };
  const ParameterShards shards{
      .parameters = {{{4, 3}, at::kDouble, 0}}, .world_size = 2, .sum = add_others};
  std::vector<ParamGroup> groups{{.name = "matrices",
                                  .weight_decay = 0.1,
                                  .slots = {{part, part_grad, {{0, 0, 5}}}},
                                  .is_matrix = true}};
  make_optimizer(MuonConfig{}, groups, shards)->step(0.1);
  EXPECT_EQ(sums, 2) << "of the direction and of the step";
  EXPECT_TRUE(at::equal(part, whole.matrix.flatten().narrow(0, 0, 5)));
}

TEST(Muon, AStepToBeSkippedChangesNothing) {
  const Parameters parameters;
  const Parameters before;
  parameters.matrix_grad.fill_(INFINITY);
  const auto optimizer = make_optimizer(MuonConfig{}, parameters.groups());
  optimizer->step(0.1, at::ones({}));
  EXPECT_TRUE(at::equal(parameters.matrix, before.matrix));
  EXPECT_TRUE(at::equal(parameters.vector, before.vector));
  for (const SlotState& state : optimizer->state()) {
    for (const at::Tensor& tensor : state.tensors) {
      if (!tensor.defined()) continue;
      EXPECT_EQ(tensor.abs().max().item<double>(), 0) << state.name;
    }
  }
}

}  // namespace
}  // namespace paceline::optim
