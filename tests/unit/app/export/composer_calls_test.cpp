#include "paceline/app/export/composer_calls.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> calls_of(const std::string& algorithms,
                                  const checkpoint::SurgeryRecord& record) {
  const auto registries = make_registries();
  return composer_calls(
      config::bind<Recipe>(config::parse_yaml("algorithms: {" + algorithms + "}\n", "recipe.yaml"),
                           registries->context(1)),
      record);
}

TEST(ComposerCalls, AreInComposersOrderWithTheRecordedOptions) {
  const checkpoint::Surgery blurred{
      "blurpool",
      "{replace_convs: true, replace_maxpools: false, blur_first: true, min_channels: 32}",
      {}};
  const checkpoint::Surgery excited{
      "squeeze_excite", "{latent_channels: 0.5, min_channels: 128}", {}};
  const checkpoint::Surgery stochastic{
      "stochastic_depth",
      "{drop_rate: 0.1, method: sample, distribution: uniform, warmup: 0dur, rescale: composer}",
      {}};
  EXPECT_THAT(calls_of("ghost_batchnorm: {ghost_batch_size: 16}, blurpool: {min_channels: 4}",
                       {stochastic, blurred, excited}),
              ElementsAre("apply_squeeze_excite(model, latent_channels=0.5, min_channels=128)",
                          "apply_blurpool(model, replace_convs=True, replace_maxpools=False, "
                          "blur_first=True, min_channels=32)",
                          "apply_stochastic_depth(model, target_layer_name='ResNetBottleneck', "
                          "stochastic_method='sample', drop_rate=0.1, drop_distribution='uniform')",
                          "apply_ghost_batchnorm(model, ghost_batch_size=16)"));
}

TEST(ComposerCalls, AreNoneOfWhatChangedNoNetwork) {
  EXPECT_THAT(calls_of("", {}), IsEmpty());
  EXPECT_THAT(calls_of("stochastic_depth: {rescale: timm}, mixup: ", {}), IsEmpty());
}

TEST(ComposerCalls, KnowsWhatComposerHas) {
  EXPECT_TRUE(is_composers("factorize"));
  EXPECT_FALSE(is_composers("fold"));
}

}  // namespace
}  // namespace paceline::app
