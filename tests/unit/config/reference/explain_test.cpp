#include "paceline/config/reference/explain.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

std::string explain_in(std::string_view yaml, std::string_view key) {
  const Node written = parse_yaml(yaml, "r.yaml");
  const auto context = catalogs().context();
  const auto recipe = bind<Recipe>(written, context);
  return explain(key, describe<Recipe>(), &recipe, written, context);
}

TEST(Explain, TellsWhatAKeyIsAndWhereItWasWritten) {
  EXPECT_EQ(explain_in("data: cifar\ntrain:\n  grad_accum_steps: 4", "train.grad_accum_steps"),
            R"(train.grad_accum_steps = 4
  written in: r.yaml:3
  default:    1
  type:       integer, at least 1
  on resume:  must stay the same
  Microbatches per step.
)");
  EXPECT_EQ(explain_in("data: cifar", "optimizer.momentum"), R"(optimizer.momentum = 0.9
  written in: nowhere; this is the default
  default:    0.9
  type:       number, between 0 and 1
  on resume:  must stay the same
  Momentum factor.
)");
  EXPECT_EQ(explain_in("data: cifar\noptimizer: adamw", "optimizer.name"), R"(optimizer.name = adamw
  written in: r.yaml:2
  default:    sgd
  type:       adamw | sgd
  on resume:  must stay the same
  What turns gradients into updates.
)");
  EXPECT_EQ(explain_in("data: {path: x}", "data.path"), R"(data.path = x
  written in: r.yaml:1
  default:    none; the key must be written
  type:       text, not empty
  on resume:  may change
  The folder that holds train and val.
)");
}

TEST(Explain, KnowsTheDefaultsOfTheChosenComponent) {
  const std::string text = explain_in("data: cifar100", "data.num_classes");
  EXPECT_NE(text.find("default:    100\n"), text.npos) << text;
}

TEST(Explain, ListsASection) {
  EXPECT_EQ(explain_in("data: cifar\nrun: {seed: 2}", "run"),
            "run.name = run  (default)\nrun.seed = 2  (r.yaml:2)\n");
  EXPECT_EQ(explain_in("data: cifar\nalgorithms: {ema: }", "algorithms"),
            "algorithms.ema.half_life = 50ba  (default)\n");
}

TEST(Explain, HintsAtTheNearestKey) {
  EXPECT_EQ(error_of([] { explain_in("data: cifar", "optimizer.momentun"); }),
            "there is no key 'optimizer.momentun'; did you mean optimizer.momentum?");
  EXPECT_EQ(error_of([] { explain_in("data: cifar", "xyz"); }), "there is no key 'xyz'");
}

TEST(Explain, AnswersNamesOfOtherPrograms) {
  EXPECT_EQ(error_of([] { explain_in("data: cifar", "max_epochs"); }),
            "there is no key 'max_epochs'; write train.duration=VALUEep (0 ranks)");
  EXPECT_EQ(error_of([] { explain_in("data: cifar", "max_epochs=90"); }),
            "there is no key 'max_epochs=90'; write train.duration=90ep (0 ranks)");
}

}  // namespace
}  // namespace paceline::config::test
