#include "paceline/config/write.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

TEST(Write, ShowsEveryKeyOfABoundRecipe) {
  const Recipe recipe =
      bind_yaml("data: {path: /data, transforms: [resize]}\nalgorithms: {mixup: }");
  EXPECT_EQ(to_yaml(to_node(describe<Recipe>(), &recipe)), R"(run:
  name: run
  seed: 1
data:
  name: folder
  path: /data
  global_batch_size: null
  batch_size_per_rank: null
  transforms:
    - name: resize
      size: 256
train:
  duration: 90ep
  precision: fp32
  grad_accum_steps: 1
  grad_clip_norm: null
  mean: [0.5, 0.5, 0.5]
  limits: {}
optimizer:
  name: sgd
  lr: 0.1
  momentum: 0.9
  nesterov: false
algorithms:
  mixup:
    alpha: 0.2
loggers:
  console:
    interval: 10
  jsonl:
    interval: 10
)");
}

}  // namespace
}  // namespace paceline::config::test
