#include "paceline/config/keys.h"

#include "unit/config/test_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

TEST(Keys, ListsAllWithComponentsAndInheritedMarks) {
  const Recipe recipe = bind_yaml("data: cifar100\nalgorithms: {ema: }");
  const auto context = catalogs().context();
  std::vector<std::string> lines;
  for (const KeyView& key : list_keys(describe<Recipe>(), &recipe, context.catalogs)) {
    lines.push_back(fmt::format("{}={} default {}{}", key.path, to_flow_yaml(key.value),
                                to_flow_yaml(key.default_value),
                                key.may_change_on_resume ? " free" : ""));
  }
  EXPECT_THAT(
      lines, ::testing::ElementsAre(
                 "run.name=run default run free", "run.seed=1 default 1",
                 "data.name=cifar100 default folder", "data.num_classes=100 default 100",
                 "data.global_batch_size=null default null",
                 "data.batch_size_per_rank=null default null", "data.transforms=[] default []",
                 "train.duration=90ep default 90ep free", "train.precision=fp32 default fp32",
                 "train.grad_accum_steps=1 default 1", "train.grad_clip_norm=null default null",
                 "train.mean=[0.5, 0.5, 0.5] default [0.5, 0.5, 0.5]", "train.limits={} default {}",
                 "optimizer.name=sgd default sgd", "optimizer.lr=0.1 default 0.1",
                 "optimizer.momentum=0.9 default 0.9", "optimizer.nesterov=false default false",
                 "algorithms.ema.half_life=50ba default 50ba",
                 "loggers.console.interval=10 default 10 free",
                 "loggers.jsonl.interval=10 default 10 free"));
}

}  // namespace
}  // namespace paceline::config::test
