#include "paceline/app/recipe/progressive_resizing.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/geometry/random_horizontal_flip.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"
#include "paceline/data/transforms/named/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using config::TimeUnit;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

constexpr config::StepLengths kLengths{
    .total_steps = 100, .steps_per_epoch = 10, .samples_per_step = 8};

std::vector<std::pair<std::int64_t, int>> changes(const ProgressiveResizing& config,
                                                  int image_size = 224) {
  std::vector<std::pair<std::int64_t, int>> pairs;
  for (const SizeChange& change : size_changes(config, image_size, kLengths))
    pairs.emplace_back(change.first_step, change.size);
  return pairs;
}

TEST(ProgressiveResizing, GrowsAlongALine) {
  EXPECT_THAT(changes({.start_size = 128}), ElementsAre(std::pair{0, 128}, std::pair{60, 160},
                                                        std::pair{70, 192}, std::pair{80, 224}));
  EXPECT_THAT(changes({128, {2, TimeUnit::kEpoch}, {25, TimeUnit::kBatch}, 48}, 200),
              ElementsAre(std::pair{0, 128}, std::pair{24, 176}, std::pair{25, 200}));
  EXPECT_THAT(changes({}), IsEmpty());
}

TEST(ProgressiveResizing, RefusesWhatMakesNoLine) {
  EXPECT_THAT([] { changes({.start_size = 224}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("less than the images' final size 224")));
  EXPECT_THAT(
      [] {
        changes({128, {0.8, TimeUnit::kFraction}, {3, TimeUnit::kEpoch}, 32});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("(0.8dur: step 80) must come before")));
}

TEST(ProgressiveResizing, RefusesLawsThatCannotBeFollowed) {
  EXPECT_THAT([] { changes({.start_size = 12, .law = ResizingLaw::kComposer}, 64); },
              ThrowsMessage<base::ConfigError>(HasSubstr("rounded to none")));
  const ProgressiveResizing by_epoch{.start_size = 32,
                                     .begin = {0, TimeUnit::kEpoch},
                                     .end = {4, TimeUnit::kEpoch},
                                     .law = ResizingLaw::kFfcv};
  EXPECT_THAT([&] { size_changes(by_epoch, 64, {.steps_per_epoch = 10, .samples_per_step = 8}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("not known in steps")));
}

std::string resizing_problems(const ProgressiveResizing& config) {
  config::Problems problems;
  config::Schema<ProgressiveResizing>::validate(config, problems);
  return problems.message();
}

TEST(ProgressiveResizing, ComposersLineMayBeginBetweenPixels) {
  const auto first_change = [](double start) {
    return changes({.start_size = start, .increment = 8, .law = ResizingLaw::kComposer}, 96).at(1);
  };
  EXPECT_EQ(first_change(34), (std::pair<std::int64_t, int>{51, 40}));
  EXPECT_EQ(first_change(33.9), (std::pair<std::int64_t, int>{52, 40}));
  EXPECT_THAT(resizing_problems({.start_size = 105.6, .law = ResizingLaw::kComposer}), IsEmpty());
  EXPECT_THAT(resizing_problems({.start_size = 105.6}), HasSubstr("must be whole pixels"));
  EXPECT_THAT(resizing_problems({.start_size = 105.6, .law = ResizingLaw::kFfcv}),
              HasSubstr("got 105.6"));
}

TEST(ProgressiveResizing, RefusesAModeThatResizesNothing) {
  EXPECT_THAT(resizing_problems({.start_size = std::nullopt, .mode = ResizingMode::kCrop}),
              HasSubstr("without start_size nothing is resized: give it, or leave mode crop out"));
  EXPECT_THAT(resizing_problems({.start_size = 128, .mode = ResizingMode::kNearest}), IsEmpty());
  EXPECT_THAT(resizing_problems({}), IsEmpty());
  EXPECT_FALSE((ProgressiveResizing{.start_size = 128}.is_after_loader()));
  EXPECT_FALSE((ProgressiveResizing{.start_size = std::nullopt, .mode = ResizingMode::kCrop}
                    .is_after_loader()));
  EXPECT_TRUE(
      (ProgressiveResizing{.start_size = 128, .mode = ResizingMode::kCrop}.is_after_loader()));
}

TEST(ProgressiveResizing, ChangesTheCropAlone) {
  const auto transforms = with_size(data::imagenet_train(224), 160);
  EXPECT_EQ(transforms.front().get_if<data::RandomResizedCropConfig>()->size, 160);
  EXPECT_EQ(transforms.size(), data::imagenet_train(224).size());
  EXPECT_THAT([] { with_size(data::cifar_train(), 24); },
              ThrowsMessage<base::ConfigError>(HasSubstr("only one random_resized_crop")));
  EXPECT_THAT([] { with_size({data::RandomHorizontalFlipConfig{}}, 24); },
              ThrowsMessage<base::ConfigError>(HasSubstr("needs random_resized_crop")));
}

TEST(ProgressiveResizing, KeepsTheRatioOfTheImages) {
  EXPECT_EQ(grown_to({224, 224}, 128), config::Sides(128));
  EXPECT_EQ(grown_to({96, 128}, 48), config::Sides(48, 64));
  EXPECT_EQ(grown_to({128, 96}, 50), config::Sides(67, 50));
}

}  // namespace
}  // namespace paceline::app
