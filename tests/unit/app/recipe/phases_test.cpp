#include "paceline/app/recipe/phases.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/optim/sgd.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kThreePhases = R"(
train:      {duration: 4ep}
optimizer:  {name: sgd, lr: 0.1, momentum: 0.5}
checkpoint: {dir: saved}
phases:
  warm:  {train: {duration: 1ep}, model: {freeze: [stem]}}
  whole: {start_from: best, optimizer: {name: adamw, lr: 0.01}}
  end:
)";

class PhasesTest : public ::testing::Test {
 protected:
  PhasedRecipe load(const std::string& yaml, const config::Overrides& overrides = {}) const {
    return load_phases(folder_.write("recipe.yaml", yaml), overrides, registries_->context(1));
  }
  std::string refusal(const std::string& yaml, const config::Overrides& overrides = {}) const {
    try {
      load(yaml, overrides);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }

  paceline::test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(PhasesTest, ARecipeWithoutPhasesIsOne) {
  for (const char* yaml : {"train: {duration: 3ep}\n", "train: {duration: 3ep}\nphases: {}\n"}) {
    const PhasedRecipe recipe = load(yaml);
    EXPECT_FALSE(recipe.has_phases());
    ASSERT_EQ(recipe.phases.size(), 1U);
    EXPECT_EQ(recipe.phases[0].recipe.value.train.duration.any_of[0].value, 3);
  }
}

TEST_F(PhasesTest, EachIsTheRecipeWithItsOwnKeysOnTop) {
  const PhasedRecipe recipe = load(kThreePhases);
  ASSERT_EQ(recipe.phases.size(), 3U);
  const Recipe& warm = recipe.phases[0].recipe.value;
  EXPECT_EQ(recipe.phases[0].name, "warm");
  EXPECT_EQ(warm.train.duration.any_of[0].value, 1);
  EXPECT_EQ(warm.model.freeze, std::vector<std::string>{"stem"});
  EXPECT_EQ(warm.optimizer.as<optim::SgdConfig>().momentum, 0.5);
  EXPECT_TRUE(warm.checkpoint.dir->ends_with("saved/1-warm")) << *warm.checkpoint.dir;
  EXPECT_TRUE(warm.phases.entries.empty());
  const Phase& whole = recipe.phases[1];
  EXPECT_EQ(whole.start_from, StartFrom::kBest);
  EXPECT_EQ(whole.recipe.value.optimizer.name, "adamw") << "without sgd's momentum";
  EXPECT_TRUE(whole.recipe.value.model.freeze.empty());
  EXPECT_EQ(whole.recipe.value.train.duration.any_of[0].value, 4);
  EXPECT_EQ(recipe.phases[2].start_from, StartFrom::kLast);
  EXPECT_EQ(recipe.phases[2].number, 3);
  EXPECT_EQ(&phase_of(recipe, "whole"), &recipe.phases[1]);
  EXPECT_EQ(&phase_of(recipe, ""), &recipe.phases[0]);
}

TEST_F(PhasesTest, OverridesReachTheRecipeAndAPhase) {
  const PhasedRecipe recipe =
      load(kThreePhases,
           config::Overrides({"train.grad_accum_steps=3", "phases.warm.train.duration=7ep"}));
  for (const Phase& phase : recipe.phases) EXPECT_EQ(phase.recipe.value.train.grad_accum_steps, 3);
  EXPECT_EQ(recipe.phases[0].recipe.value.train.duration.any_of[0].value, 7);
  EXPECT_THAT(refusal(kThreePhases, config::Overrides({"phases.wram.train.duration=7ep"})),
              HasSubstr("there is no phases.wram in the recipe"));
}

TEST_F(PhasesTest, AnOverrideThatAPhaseTakesTheEffectFromIsAnError) {
  EXPECT_THAT(refusal(kThreePhases, config::Overrides({"train.duration=9ep"})),
              AllOf(HasSubstr("train.duration=9ep"), HasSubstr("has no effect in the phase warm"),
                    HasSubstr("++phases.warm.train.duration=9ep"), Not(HasSubstr("phase end"))));
  // Its key goes away with the component.
  EXPECT_THAT(refusal(kThreePhases, config::Overrides({"optimizer.momentum=0.7"})),
              HasSubstr("has no effect in the phase whole"));
  EXPECT_EQ(refusal(kThreePhases, config::Overrides({"train.log_grad_norm=3"})), "accepted");
}

TEST_F(PhasesTest, AProgramsOverridesAreOnTopOfEveryPhase) {
  const PhasedRecipe recipe = load(kThreePhases, config::Overrides({}, {"++train.duration=5ba"}));
  for (const Phase& phase : recipe.phases)
    EXPECT_EQ(phase.recipe.value.train.duration.any_of[0].unit, config::TimeUnit::kBatch);
}

TEST_F(PhasesTest, OneAloneIsARecipeWithoutPhases) {
  const auto alone = [&](const char* yaml, const config::Overrides& overrides,
                         const std::string& name) {
    return load_one_phase(folder_.write("recipe.yaml", yaml), overrides, name,
                          registries_->context(1));
  };
  const config::Overrides unsaved({"train.grad_accum_steps=3"}, {"checkpoint.every=null"});
  EXPECT_THAT(refusal(kThreePhases, unsaved), HasSubstr("a checkpoint of this one"));
  const PhasedRecipe first = alone(kThreePhases, unsaved, "");
  EXPECT_FALSE(first.has_phases());
  EXPECT_EQ(first.phases.size(), 1U);
  const Recipe& warm = first.phases[0].recipe.value;
  EXPECT_EQ(warm.model.freeze, std::vector<std::string>{"stem"});
  EXPECT_EQ(warm.train.grad_accum_steps, 3);
  EXPECT_FALSE(warm.checkpoint.every);
  EXPECT_EQ(alone(kThreePhases, unsaved, "whole").phases[0].recipe.value.optimizer.name, "adamw");
  const PhasedRecipe plain = alone("train: {duration: 3ep}\n", unsaved, "");
  EXPECT_FALSE(plain.phases[0].recipe.value.checkpoint.every);
  const auto refuses = [&](const char* yaml, const char* problem) {
    const auto asked = [&] { alone(yaml, unsaved, "rest"); };
    EXPECT_THAT(asked, ::testing::ThrowsMessage<base::ConfigError>(HasSubstr(problem)));
  };
  refuses(kThreePhases, "--phase rest: the recipe has the phases warm, whole, end");
  refuses("train: {duration: 3ep}\n", "--phase rest: the recipe has no phases");
}

TEST_F(PhasesTest, TellsAllThatIsWrongAtOnce) {
  const std::string message = refusal(R"(
train: {duration: never}
phases:
  a/b:   {start_from: best, train: {durration: 1ep}, run: {seed: 2}}
  whole: {start_from: middle, model: {pretrained: x.safetensors}, checkpoint: {dir: y}}
)");
  EXPECT_THAT(message,
              AllOf(HasSubstr("phases.a/b: a phase's name is of letters"),
                    HasSubstr("phases.a/b.run: is the whole run's"),
                    HasSubstr("phases.a/b.start_from: there is no phase before the first"),
                    HasSubstr("train.durration"), HasSubstr("recipe.yaml:4"),
                    HasSubstr("phases.whole.start_from: must be one of last, best, got 'middle'"),
                    HasSubstr("phases.whole.model.pretrained: a phase starts from the weights"),
                    HasSubstr("phases.whole.checkpoint.dir: is the whole run's")));
  const std::size_t first = message.find("train.duration:");
  ASSERT_NE(first, message.npos) << message;
  EXPECT_EQ(message.find("train.duration:", first + 1), message.npos) << "told once: " << message;
  EXPECT_THAT(refusal("phases: [warm, whole]\n"), HasSubstr("names with a section each"));
  EXPECT_THAT(refusal("phases: {warm: 1ep}\n"), HasSubstr("phases.warm: must be a section"));
}

TEST_F(PhasesTest, APhaseNeedsACheckpointOfTheOneBefore) {
  EXPECT_THAT(refusal("phases: {a: {checkpoint: {every: null}}, b: {}}\n"),
              AllOf(HasSubstr("phases.a.checkpoint.every"), HasSubstr("which saves none")));
  EXPECT_EQ(refusal("phases: {a: {}, b: {checkpoint: {every: null}}}\n"), "accepted");
  EXPECT_THAT(refusal("phases: {a: {checkpoint: {keep_best: 0}}, b: {start_from: best}}\n"),
              HasSubstr("which keeps none"));
  EXPECT_THAT(refusal("phases: {a: {train: {eval_every: null}}, b: {start_from: best}}\n"),
              HasSubstr("train.eval_every"));
}

TEST_F(PhasesTest, SaysWhichPhasesThereAre) {
  EXPECT_THAT([&] { phase_of(load(kThreePhases), "wram"); },
              testing::ThrowsMessage<base::ConfigError>(HasSubstr("warm, whole, end")));
  EXPECT_THAT([&] { phase_of(load("train: {duration: 3ep}\n"), "warm"); },
              testing::ThrowsMessage<base::ConfigError>(HasSubstr("has no phases")));
}

}  // namespace
}  // namespace paceline::app
