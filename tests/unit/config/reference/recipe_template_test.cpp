#include "paceline/config/reference/recipe_template.h"

#include "unit/config/test_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

TEST(RecipeTemplate, ExplainsEveryKeyAndLoadsBack) {
  const Recipe recipe = bind_yaml("data: {path: /data}\nalgorithms: {mixup: }\nloggers: {}");
  const auto context = catalogs().context();
  const std::string text = recipe_template(describe<Recipe>(), &recipe, context.catalogs);
  EXPECT_EQ(text, R"(# yaml-language-server: $schema=recipe.schema.json
# A training run. With `paceline config schema >recipe.schema.json` beside it editors know its keys.

# The run.
run:
  # Its name. (text, not empty)
  name: run
  # Of every draw. (integer)
  seed: 1

# The images.
data:
  # The data set. (cifar | cifar100 | folder)
  name: folder
  # The folder that holds train and val. (text, not empty)
  path: /data
  # Samples per step. (integer or null, at least 1)
  global_batch_size: null
  # Samples per step and rank. (integer or null, at least 1)
  batch_size_per_rank: null
  # Transforms in order. (list of sections; names: resize)
  transforms: []

# The training loop.
train:
  # How long to train. (duration or list of them, more than 0)
  duration: 90ep
  # Type of the activations. (fp32 | bf16)
  precision: fp32
  # Microbatches per step. (integer, at least 1)
  grad_accum_steps: 1
  # Largest norm of the gradient. (number or null, more than 0)
  grad_clip_norm: null
  # Mean of the channels. (list of 3 x number)
  mean: [0.5, 0.5, 0.5]
  # Limits by name. (map of name to integer, at least 0)
  limits: {}

optimizer:
  # What turns gradients into updates. (adamw | sgd)
  name: sgd
  # Base learning rate. (number, at least 0)
  lr: 0.1
  # Momentum factor. (number, between 0 and 1)
  momentum: 0.9
  # Look ahead. (true or false)
  nesterov: false
# What changes the loop. (map from names to options; names: ema | mixup)
algorithms:
  mixup:
    alpha: 0.2
# Where metrics go. (map from names to options; names: console | jsonl | tensorboard)
loggers: {}
)");
  const Recipe again = bind_yaml(text);
  EXPECT_TRUE(
      same_value(to_node(describe<Recipe>(), &again), to_node(describe<Recipe>(), &recipe)));
}

TEST(RecipeTemplate, LeavesOutWhatTheNameStandsFor) {
  const auto context = catalogs().context();
  const auto text_of = [&](const std::string& data) {
    const Recipe recipe = bind_yaml("data: " + data);
    return recipe_template(describe<Recipe>(), &recipe, context.catalogs);
  };
  EXPECT_THAT(text_of("{name: cifar100}"),
              testing::HasSubstr("# num_classes: left out, it is cifar100's own\n"));
  EXPECT_THAT(text_of("{name: cifar100, num_classes: 7}"), testing::HasSubstr("num_classes: 7\n"));
}

}  // namespace
}  // namespace paceline::config::test
