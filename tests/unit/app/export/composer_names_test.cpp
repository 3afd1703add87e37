#include "paceline/app/export/composer_names.h"

#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using checkpoint::TensorSource;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TensorSource ones_of(std::string name, std::vector<std::int64_t> shape) {
  return {std::move(name), at::kFloat, shape, [shape] { return at::ones(shape); }};
}

class ComposerNames : public ::testing::Test {
 protected:
  ComposerModel named(const std::string& model, const checkpoint::SurgeryRecord& record,
                      std::vector<TensorSource> tensors, const std::string& algorithms = "") {
    const auto recipe = config::bind<Recipe>(
        config::parse_yaml(fmt::format("model: {}\nalgorithms: {{{}}}\n", model, algorithms),
                           "recipe.yaml"),
        registries_->context(1));
    return as_composers(recipe, record, std::move(tensors), *registries_);
  }
  std::vector<std::string> names(const std::string& model, const checkpoint::SurgeryRecord& record,
                                 std::vector<TensorSource> tensors,
                                 const std::string& algorithms = "") {
    std::vector<std::string> names;
    for (const TensorSource& tensor : named(model, record, std::move(tensors), algorithms).tensors)
      names.push_back(tensor.name);
    return names;
  }
  std::string refusal(const std::string& model, const checkpoint::SurgeryRecord& record = {},
                      std::vector<TensorSource> tensors = {}) {
    try {
      named(model, record, std::move(tensors));
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "";
  }

  static constexpr const char* kBlurOptions =
      "{replace_convs: true, replace_maxpools: true, blur_first: true, min_channels: 16}";
  static constexpr const char* kExciteOptions = "{latent_channels: 256, min_channels: 128}";
  static constexpr const char* kFactorOptions =
      "{factorize_convs: true, factorize_linears: true, min_channels: 512, latent_channels: 0.25, "
      "min_features: 256, latent_features: 100}";

 private:
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(ComposerNames, LayersStandInsideOfComposers) {
  const checkpoint::SurgeryRecord record{
      {"factorize", kFactorOptions, {{"convolutions", {"layer2.0.conv1"}}}},
      {"blurpool",
       kBlurOptions,
       {{"convolutions", {"layer2.0.conv1.to_latent"}}, {"max-pools", {"maxpool"}}}},
      {"squeeze_excite",
       "{latent_channels: 8, min_channels: 1}",
       {{"convolutions", {"layer2.0.conv1"}}}}};
  EXPECT_THAT(names("resnet18", record,
                    {ones_of("conv1.weight", {64, 3, 7, 7}),
                     ones_of("layer2.0.conv1.to_latent.weight", {16, 64, 3, 3}),
                     ones_of("layer2.0.conv1.weight", {128, 16, 1, 1}),
                     ones_of("layer2.0.conv1.bias", {128}),
                     ones_of("layer2.0.conv1.se.fc1.weight", {8, 128, 1, 1})}),
              ElementsAre("conv1.weight", "layer2.0.conv1.conv.module0.conv.weight",
                          "layer2.0.conv1.conv.module1.weight", "layer2.0.conv1.conv.module1.bias",
                          "layer2.0.conv1.se.pool_and_mlp.2.weight",
                          "layer2.0.conv1.conv.module0.blur_filter", "maxpool.filt2d"));
}

TEST_F(ComposerNames, TensorsHaveTheSizesThatTheyAreSaidToHave) {
  const checkpoint::SurgeryRecord record{
      {"blurpool", kBlurOptions, {{"convolutions", {"layer2.0.conv1"}}}},
      {"squeeze_excite", kExciteOptions, {{"convolutions", {"layer2.0.conv1"}}}}};
  const ComposerModel model = named("resnet18", record,
                                    {ones_of("layer2.0.conv1.weight", {128, 64, 3, 3}),
                                     ones_of("layer2.0.conv1.se.fc1.weight", {8, 128, 1, 1})});
  EXPECT_THAT(model.tensors[1].shape, ElementsAre(8, 128));
  EXPECT_THAT(model.tensors[2].shape, ElementsAre(64, 1, 3, 3)) << "what the convolution takes";
  for (const TensorSource& tensor : model.tensors)
    EXPECT_EQ(tensor.load().sizes(), at::IntArrayRef(tensor.shape)) << tensor.name;
}

TEST_F(ComposerNames, GhostsHoldTheNormsThoughTheyChangeNothingHere) {
  const std::vector<TensorSource> tensors{ones_of("bn1.weight", {64}),
                                          ones_of("bn1.running_mean", {64}),
                                          ones_of("fc.weight", {10, 512})};
  EXPECT_THAT(names("resnet18", {}, tensors, "ghost_batchnorm: "),
              ElementsAre("bn1.batchnorm.weight", "bn1.batchnorm.running_mean", "fc.weight"));
  EXPECT_THAT(names("resnet18", {}, tensors),
              ElementsAre("bn1.weight", "bn1.running_mean", "fc.weight"));
}

TEST_F(ComposerNames, RefusesOtherModels) {
  EXPECT_THAT(refusal("vit_tiny_patch16_224"),
              AllOf(HasSubstr("--names composer: Composer changes torchvision's ResNets"),
                    HasSubstr("the model is vit_tiny_patch16_224; leave --names out")));
  EXPECT_THAT(refusal("resnet50d"), HasSubstr("model.stem: deep, as resnet50d here"));
  EXPECT_THAT(refusal("{name: resnet18, width: 32}"), HasSubstr("model.width: 32"));
  EXPECT_THAT(refusal("{name: resnet18, layers: [1, 1]}"), HasSubstr("4 layers of blocks"));
  EXPECT_THAT(refusal("resnet50"), IsEmpty());
}

TEST_F(ComposerNames, RefusesChangesThatComposerHasNot) {
  EXPECT_THAT(refusal("resnet18", {{"own_surgery", "{}", {}}}),
              HasSubstr("changed by own_surgery, which Composer has not"));
  EXPECT_THAT(refusal("resnet18", {{"stochastic_depth", "{}", {{"blocks", {"layer1.0"}}}}}),
              HasSubstr("bottlenecks, and resnet18 has basic blocks"));
}

TEST_F(ComposerNames, RefusesExcitationsThatComposerWouldTakeApart) {
  const checkpoint::SurgeryRecord record{{"factorize", kFactorOptions, {}},
                                         {"squeeze_excite", kExciteOptions, {}}};
  const auto excitation = [](std::int64_t latent) {
    return std::vector{ones_of("layer4.0.conv1.se.fc1.weight", {latent, 512, 1, 1})};
  };
  EXPECT_THAT(refusal("resnet18", record, excitation(256)),
              AllOf(HasSubstr("makes two layers of those of its SqueezeExcite"),
                    HasSubstr("layer4.0.conv1.se.fc1.weight: 512 to 256")));
  EXPECT_THAT(refusal("resnet18", record, excitation(255)), IsEmpty());
}

}  // namespace
}  // namespace paceline::app
