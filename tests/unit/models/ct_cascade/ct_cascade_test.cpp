#include "paceline/models/ct_cascade/ct_cascade.h"

#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/registry.h"
#include "paceline/nn/network_parts.h"
#include "unit/models/ct_cascade/block_inputs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::models {
namespace {

using testing::AllOf;
using testing::HasSubstr;

CtCascadeConfig small_cascade() {
  return {.stages = {{8, 4, 12, 1, 2}, {16, 8, 16, 2, 2}}, .xray_size = 16, .xray_dim = 64};
}

/// What is wrong with it; "" if nothing.
std::string cascade_problem(const CtCascadeConfig& config) {
  try {
    const CtCascade cascade(config);
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(CtCascade, IsAComponentWithTheTablesDefaults) {
  config::Registry<nn::Network> registry("model");
  registry.add<CtCascadeConfig>();
  const CtCascadeConfig config;
  ASSERT_EQ(config.stages.size(), 3U);
  for (const CascadeStageConfig& stage : config.stages)
    EXPECT_EQ(stage.volume_size / stage.patch, 16) << "each stage has 16^3 tokens";
  EXPECT_EQ(config.stages[2].patch * config.stages[2].patch * config.stages[2].patch, 4096);
  EXPECT_EQ(cascade_geometry(config).angles_degrees, (std::vector<double>{0, 90}));
  EXPECT_FALSE(cascade_geometry(config).cone);
}

std::unique_ptr<nn::Network> cascade_of(const std::string& recipe) {
  config::Registry<nn::Network> registry("model");
  registry.add<CtCascadeConfig>();
  const config::Node options = config::parse_yaml(recipe, "recipe.yaml");
  return registry.build(config::bind_component(*registry.find("ct_cascade"), options, {}));
}

TEST(CtCascade, IsMadeOfARecipe) {
  const std::string views = "xray_size: 32\nxray_dim: 64\nxray_pool: 2\nnum_views: 1\n";
  const std::string stage = "{volume_size: 8, patch: 4, dim: 12, depth: 1, heads: 2}";
  const auto made = cascade_of(views + "view_types: [lateral]\nstages: [" + stage + "]\n");
  EXPECT_EQ(dynamic_cast<const nn::CascadeNetwork&>(*made).num_stages(), 1);
  try {
    cascade_of(views + "stages: [{volume_size: 9}]\n");
    FAIL() << "9 voxels are no multiple of 4";
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("stages[0].volume_size"));
  }
}

TEST(CtCascade, StagesFollowEachOther) {
  CtCascade cascade(small_cascade());
  fill_denoiser(cascade);
  EXPECT_EQ(cascade.num_stages(), 2);
  EXPECT_EQ(cascade.stage(0).previous_side, 0);
  EXPECT_EQ(cascade.stage(1).side, 16);
  EXPECT_EQ(cascade.stage(1).previous_side, 8);
  const at::Tensor xrays = denoiser_numbers({2, 2, 16, 16}, 0);
  const at::Tensor steps = at::tensor({5, 700}, at::kLong);
  const at::Tensor coarse =
      cascade.denoise(0, {denoiser_numbers({2, 8, 8, 8}, 1), steps}, cascade.encode(0, xrays));
  EXPECT_EQ(coarse.sizes(), (std::vector<std::int64_t>{2, 8, 8, 8}));
  const at::Tensor noisy = denoiser_numbers({2, 16, 16, 16}, 2);
  const at::Tensor levels = at::zeros({2}, at::kDouble);
  const at::Tensor fine =
      cascade.denoise(1, {noisy, steps, coarse, levels}, cascade.encode(1, xrays));
  EXPECT_EQ(fine.sizes(), (std::vector<std::int64_t>{2, 16, 16, 16}));
  cascade.set_current_stage(1);
  const tensor::Fields fields{{"xrays", xrays},
                              {"noisy", noisy},
                              {"steps", steps},
                              {"previous", coarse},
                              {"levels", levels}};
  EXPECT_TRUE(at::equal(cascade.forward(fields, {}), fine));
}

TEST(CtCascade, AStageIsAPartThatTrainsAlone) {
  CtCascade cascade(small_cascade());
  fill_denoiser(cascade);
  const nn::NetworkPart part(cascade, nn::CascadeNetwork::stage_name(1));
  cascade.set_current_stage(1);
  cascade
      .forward({{"xrays", denoiser_numbers({1, 2, 16, 16}, 0)},
                {"noisy", denoiser_numbers({1, 16, 16, 16}, 1)},
                {"steps", at::tensor({5}, at::kLong)},
                {"previous", denoiser_numbers({1, 8, 8, 8}, 2)},
                {"levels", at::zeros({1}, at::kDouble)}},
               {})
      .sum()
      .backward();
  std::int64_t copied = 0;
  const auto parameters = cascade.named_parameters();
  for (const auto& item : parameters) {
    EXPECT_EQ(item.value().grad().defined(), part.holds(item.key())) << item.key();
    const auto source = nn::CascadeNetwork::starts_from(item.key());
    if (!source) continue;
    ++copied;
    EXPECT_EQ(parameters[*source].sizes(), item.value().sizes()) << item.key();
  }
  EXPECT_EQ(copied, 2 * 9 + 2) << "two towers and two embeddings";
}

/// Notes when its unit runs.
class UnitRunNote : public nn::UnitWrapper {
 public:
  UnitRunNote(std::string name, std::vector<std::string>& order)
      : name_(std::move(name)), order_(order) {}
  at::Tensor run(const Inputs& inputs, const Forward& forward) override {
    order_.push_back(name_);
    return forward(inputs);
  }

 private:
  std::string name_;
  std::vector<std::string>& order_;
};

// What strategies that gather units one after the other count on.
TEST(CtCascade, UnitsOfAStageRunOnceInTheirOrder) {
  for (const bool share : {false, true}) {
    CtCascadeConfig config = small_cascade();
    config.share_view_weights = share;
    CtCascade cascade(config);
    fill_denoiser(cascade);
    std::vector<std::string> order;
    std::vector<std::string> of_stage;
    for (const nn::NamedUnit& unit : nn::units(cascade)) {
      unit.unit->wrap(std::make_shared<UnitRunNote>(unit.name, order));
      if (unit.name.starts_with("stages.0.")) of_stage.push_back(unit.name);
    }
    const tensor::Fields fields{{"xrays", denoiser_numbers({1, 2, 16, 16}, 0)},
                                {"noisy", denoiser_numbers({1, 8, 8, 8}, 1)},
                                {"steps", at::tensor({5}, at::kLong)}};
    cascade.forward(fields, {});
    EXPECT_EQ(order, of_stage);
    EXPECT_EQ(std::ssize(order), share ? 4 : 6);
    order.clear();
    const nn::XrayContext context = cascade.encode(0, fields.at("xrays"));
    const std::size_t encoded = order.size();
    cascade.denoise(0, {fields.at("noisy"), fields.at("steps")}, context);
    ASSERT_EQ(order.size(), encoded + 1) << "a step computes blocks alone";
    EXPECT_EQ(order.back(), "stages.0.blocks.0");
  }
}

TEST(CtCascade, StartsFromZerosWhereBranchesAreGatedAndDetailEnds) {
  CtCascade cascade(small_cascade());
  cascade.initialize(3);
  for (const nn::NamedTensor& item : nn::named_parameters(cascade)) {
    const bool is_one_value = item.tensor.numel() == 1;
    const double deviation = (is_one_value ? item.tensor.abs() : item.tensor.std()).item<double>();
    const bool is_gate = item.name.find("modulation") != std::string::npos ||
                         item.name.find("detail.conv2") != std::string::npos;
    const bool is_norm = item.name.find("norm") != std::string::npos;
    if (is_gate || is_norm) {
      EXPECT_EQ(deviation, 0) << item.name;
      const bool is_one = is_norm && item.name.ends_with("weight");
      EXPECT_EQ(item.tensor.flatten()[0].item<double>(), is_one ? 1 : 0) << item.name;
    } else if (item.name.ends_with("embed")) {
      EXPECT_NEAR(deviation, 0.02, 0.006) << item.name;
    } else {
      EXPECT_GT(deviation, 0) << item.name;
      EXPECT_LE(item.tensor.abs().max().item<double>(), 1) << item.name;
    }
  }
  // Uniform in one over the root of the fan-in: 32 values of each of two views' 64 features.
  const auto parameters = cascade.named_parameters();
  const double bound = 1 / std::sqrt(128.0);
  for (const char* const name : {"stages.0.xray_embed.weight", "stages.0.xray_embed.bias"}) {
    const double largest = parameters[name].abs().max().item<double>();
    EXPECT_LE(largest, bound) << name;
    EXPECT_GT(largest, 0.7 * bound) << name;
  }
}

TEST(CtCascade, CountsTheCurrentStage) {
  CtCascade cascade(small_cascade());
  const nn::SampleSizes sizes{{"xrays", {2, 16, 16}}};
  const double first = cascade.flops_per_sample(sizes);
  cascade.set_current_stage(1);
  EXPECT_GT(cascade.flops_per_sample(sizes), first);
  EXPECT_THROW(static_cast<void>(cascade.flops_per_sample({{"images", {3, 16, 16}}})),
               base::ConfigError);
  EXPECT_THROW(static_cast<void>(cascade.flops_per_sample({{"xrays", {2, 16, 24}}})),
               base::ConfigError);
}

TEST(CtCascade, SaysWhatDoesNotFit) {
  EXPECT_EQ(cascade_problem(small_cascade()), "");
  CtCascadeConfig config = small_cascade();
  config.stages[0].patch = 3;
  EXPECT_THAT(cascade_problem(config),
              HasSubstr("stages[0].volume_size: must be a multiple of patch (3), got 8"));
  config = small_cascade();
  config.stages[1].heads = 3;
  EXPECT_THAT(cascade_problem(config),
              HasSubstr("stages[1].dim: must be a multiple of heads (3), got 16"));
  for (const std::int64_t size : {8, 4, 20}) {
    config = small_cascade();
    config.stages[1].volume_size = size;
    config.stages[1].patch = 2;
    EXPECT_THAT(cascade_problem(config),
                AllOf(HasSubstr("[1].volume_size must be a multiple of the stage before's 8"),
                      HasSubstr("got " + std::to_string(size))));
  }
  config = small_cascade();
  config.num_views = 1;
  EXPECT_THAT(cascade_problem(config), HasSubstr("num_views: is 1, but view_types names 2"));
  config.view_types = {XrayView::kLateral};
  EXPECT_EQ(cascade_problem(config), "");
  config.view_angles = {0, 45, 90};
  EXPECT_THAT(cascade_problem(config), HasSubstr("num_views: is 1, but view_angles names 3"));
  config = small_cascade();
  config.xray_size = 24;
  EXPECT_EQ(cascade_problem(config), "");
  config.xray_pool = 2;
  EXPECT_THAT(cascade_problem(config),
              HasSubstr("xray_size: must be a multiple of 8 * xray_pool (16)"));
  config = small_cascade();
  config.xray_dim = 96;
  EXPECT_THAT(cascade_problem(config), HasSubstr("xray_dim: must be a multiple of 64, got 96"));
  config = small_cascade();
  config.stages.clear();
  EXPECT_THAT(cascade_problem(config), HasSubstr("stages: needs at least one stage"));
}

TEST(CtCascade, SaysWhatBeamsDoNotFit) {
  CtCascadeConfig config = small_cascade();
  config.source_to_isocentre_mm = 1000;
  EXPECT_THAT(cascade_problem(config), HasSubstr("go together"));
  config.source_to_detector_mm = 1500;
  EXPECT_EQ(cascade_problem(config), "");
  EXPECT_EQ(cascade_geometry(config).cone->source_to_detector_mm, 1500);
  config.source_to_isocentre_mm = 300;
  EXPECT_THAT(cascade_problem(config), HasSubstr("move the source further away"));
}

}  // namespace
}  // namespace paceline::models
