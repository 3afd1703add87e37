#include "paceline/nn/volume/number_embedding.h"

#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(NumberEmbedding, NeighboursAndStrangersDiffer) {
  const NumberEmbedding embedding(12);
  for (const NamedTensor& item : named_parameters(embedding))
    tensor::fill_normal(item.tensor, 0, 0.2, {.index = 3});
  const at::Tensor vectors = embedding.forward(at::tensor({0, 1, 500, 999}, at::kLong), at::kFloat);
  ASSERT_EQ(vectors.sizes(), (std::vector<std::int64_t>{4, 12}));
  EXPECT_EQ(vectors.scalar_type(), at::kFloat);
  for (std::int64_t i = 0; i < 3; ++i)
    EXPECT_FALSE(vectors[i].allclose(vectors[i + 1], 1e-2, 1e-2)) << i;
  // Whole and other numbers are one scale.
  const at::Tensor same = embedding.forward(at::tensor({1.0}, at::kDouble), at::kFloat);
  EXPECT_TRUE(same[0].allclose(vectors[1], 1e-5, 1e-6));
}

TEST(NumberEmbedding, CountsItsLayers) {
  LayerCosts costs;
  NumberEmbedding(12).count(costs);
  EXPECT_EQ(costs.flops(), 2.0 * (256 * 12 + 12 * 12));
}

}  // namespace
}  // namespace paceline::nn
