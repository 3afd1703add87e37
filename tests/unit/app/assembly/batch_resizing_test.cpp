#include "paceline/app/assembly/batch_resizing.h"

#include "paceline/app/assembly/data_assembly.h"

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(BatchResizing, SizesAreRoundedDownAndNoneGrow) {
  EXPECT_EQ(resized_after_loader({224, 224}, 160), (data::ImageSize{160, 160}));
  EXPECT_EQ(resized_after_loader({96, 128}, 50), (data::ImageSize{50, 66}));
  EXPECT_EQ(resized_after_loader({224, 224}, 115), (data::ImageSize{114, 114}));
  EXPECT_EQ(resized_after_loader({96, 128}, 96), (data::ImageSize{96, 128}));
  EXPECT_EQ(resized_after_loader({96, 128}, 200), (data::ImageSize{96, 128}));
}

TEST(BatchResizing, IsAnAlgorithmOnlyAfterTheLoader) {
  DataPart part;
  EXPECT_EQ(make_batch_resizing({.start_size = 128}, part), nullptr);
  EXPECT_EQ(make_batch_resizing({.start_size = std::nullopt, .mode = ResizingMode::kCrop}, part),
            nullptr);
  part.pipeline = std::make_shared<data::TransformPipeline>(
      std::vector<data::TransformConfig>{}, data::InputSize{{8, 8}, "an image", "a key"});
  part.image_sizes = {{0, 4, {4, 4}}, {3, 8, {8, 8}}};
  const auto made = make_batch_resizing({.start_size = 4, .mode = ResizingMode::kNearest}, part);
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->name(), "progressive_resizing");
  EXPECT_TRUE(made->traits().transforms_batches);
}

}  // namespace
}  // namespace paceline::app
