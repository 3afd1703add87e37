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
