#include "paceline/data/transforms/named/presets.h"

#include "paceline/data/transforms/pipeline.h"
#include "support/data/test_images.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Presets, MakePipelinesOfTheirSize) {
  EXPECT_EQ(TransformPipeline(imagenet_train()).output_size(), (ImageSize{224, 224}));
  EXPECT_EQ(TransformPipeline(imagenet_eval()).output_size(), (ImageSize{224, 224}));
  EXPECT_EQ(TransformPipeline(cifar_train()).output_size(), (ImageSize{32, 32}));
  EXPECT_EQ(TransformPipeline(cifar_eval()).output_size(), (ImageSize{32, 32}));
}

TEST(Presets, CifarEvaluationOnlyNormalizes) {
  const NoiseImage image({32, 32}, 8);
  const StoredSample sample = raw_sample(image.view);
  const TransformPipeline pipeline(cifar_eval());
  TransformScratch scratch;
  std::vector<float> floats(3 * 32 * 32);
  pipeline.run(sample, {1, 2, 3}, scratch, {floats.data()});
  const NormalizeTable table({{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}});
  for (std::size_t i = 0; i < floats.size(); ++i) {
    EXPECT_EQ(floats[i], table.value(static_cast<int>(i % 3), sample.bytes[i]));
  }
}

TEST(Presets, MnistNormalisesAndScalesOnDemand) {
  StoredSample sample;
  sample.width = sample.height = 28;
  sample.bytes.resize(3 * 28 * 28);
  for (std::size_t i = 0; i < sample.bytes.size(); ++i) {
    sample.bytes[i] = static_cast<std::uint8_t>(i * 7);
  }
  const TransformPipeline pipeline(mnist());
  TransformScratch scratch;
  std::vector<float> floats(3 * 28 * 28);
  pipeline.run(sample, {1, 2, 3}, scratch, {floats.data()});
  const NormalizeTable table({{0.1307, 0.1307, 0.1307}, {0.3081, 0.3081, 0.3081}});
  for (std::size_t i = 0; i < floats.size(); ++i) {
    EXPECT_EQ(floats[i], table.value(static_cast<int>(i % 3), sample.bytes[i]));
  }
  EXPECT_EQ(TransformPipeline(mnist(32)).output_size(), (ImageSize{32, 32}));
}

std::vector<std::string> names_of(const std::vector<TransformConfig>& transforms) {
  std::vector<std::string> names;
  for (const TransformConfig& transform : transforms) names.emplace_back(transform->name());
  return names;
}

TEST(Presets, StrongerOnesAddToTheUsual) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(imagenet_train(224, Augmentation::kMedium)),
            (Names{"random_resized_crop", "random_horizontal_flip", "trivial_augment_wide",
                   "normalize"}));
  EXPECT_EQ(names_of(cifar_train(Augmentation::kStrong)),
            (Names{"random_crop", "random_horizontal_flip", "timm_rand_augment", "normalize",
                   "random_erasing"}));
  EXPECT_EQ(names_of(mnist(28, Augmentation::kStrong)),
            (Names{"resize", "center_crop", "random_affine", "normalize", "random_erasing"}));
  for (const auto augmentation : {Augmentation::kMedium, Augmentation::kStrong}) {
    EXPECT_EQ(TransformPipeline(imagenet_train(96, augmentation)).output_size(),
              (ImageSize{96, 96}));
    EXPECT_EQ(TransformPipeline(mnist(28, augmentation)).output_size(), (ImageSize{28, 28}));
  }
}

TEST(Presets, EvaluationDrawsNothing) {
  const TransformPipeline pipeline(imagenet_eval());
  Plan first;
  Plan second;
  pipeline.draw({1, 1, 1}, {300, 400}, first);
  pipeline.draw({2, 5, 9}, {300, 400}, second);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(std::get<CropStep>(first[1]).box, std::get<CropStep>(second[1]).box);
}

}  // namespace
}  // namespace paceline::data
