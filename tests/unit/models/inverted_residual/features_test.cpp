#include "paceline/models/inverted_residual/features.h"

#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::models {
namespace {

InvertedResidualFeaturesConfig two_stages(bool names_stages) {
  const InvertedResidualConfig block{.in_channels = 8, .expanded_channels = 8, .out_channels = 8};
  return {.in_channels = 2,
          .stages = {{block, block}, {block, block}},
          .names_stages = names_stages,
          .last_channels = 24,
          .drop_path_rate = 0.4};
}

std::vector<std::string> unit_names(const torch::nn::Module& module) {
  std::vector<std::string> names;
  for (const nn::NamedUnit& unit : nn::units(module)) names.push_back(unit.name);
  return names;
}

TEST(InvertedResidualFeatures, NamesBlocksByStageOrInARow) {
  EXPECT_THAT(unit_names(InvertedResidualFeatures(two_stages(false))),
              testing::ElementsAre("1", "2", "3", "4"));
  EXPECT_THAT(unit_names(InvertedResidualFeatures(two_stages(true))),
              testing::ElementsAre("1.0", "1.1", "2.0", "2.1"));
}

TEST(InvertedResidualFeatures, DropPathGrowsOverAllStages) {
  std::vector<double> rates;
  for (const auto& module :
       InvertedResidualFeatures(two_stages(true)).modules(/*include_self=*/false))
    if (const auto* path = module->as<nn::DropPath>()) rates.push_back(path->rule().rate);
  EXPECT_THAT(rates, testing::ElementsAre(0.0, testing::DoubleEq(0.1), testing::DoubleEq(0.2),
                                          testing::DoubleEq(0.3)));
}

TEST(InvertedResidualFeatures, AreOneVectorAnImageAlsoOfNone) {
  const InvertedResidualFeatures features(two_stages(true));
  for (const nn::NamedTensor& item : nn::named_parameters(features))
    if (item.tensor.dim() == 4) nn::kaiming_normal_fan_out(item.tensor, {.seed = 1});
  EXPECT_EQ(features.forward(at::ones({3, 2, 10, 8}), {}).sizes(),
            (std::vector<std::int64_t>{3, 24}));
  for (const auto& module : features.modules(/*include_self=*/false))
    if (auto* norm = module->as<nn::BatchNorm2d>()) norm->set_frozen(true);
  const at::Tensor none = features.forward(at::ones({0, 2, 10, 8}), {});
  EXPECT_EQ(none.size(0), 0);
  none.sum().backward();  // as where its peers wait for it
}

}  // namespace
}  // namespace paceline::models
