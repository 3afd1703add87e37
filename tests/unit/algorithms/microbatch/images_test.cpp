#include "paceline/algorithms/microbatch/images.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(BatchImages, AreToldApartFromOtherFields) {
  train::Batch batch;
  batch.fields = {{"images", at::zeros({2, 3, 8, 6})}, {"labels", at::zeros({2}, at::kLong)}};
  EXPECT_TRUE(images_of(batch, "cutout").is_same(batch.fields.at("images")));
  EXPECT_EQ(size_of(images_of(batch, "cutout")).height, 8);
  EXPECT_EQ(size_of(images_of(batch, "cutout")).width, 6);
  batch.fields = {{"series", at::zeros({3, 2})}};
  EXPECT_THAT([&] { images_of(batch, "cutout"); },
              ThrowsMessage<base::ConfigError>(
                  HasSubstr("algorithms.cutout needs a data set of images; the fields of this one "
                            "are series")));
}

TEST(BatchImages, HaveTheirShareOfABatchsBytes) {
  EXPECT_EQ(bytes_of_images({{"images", 96}, {"labels", 8}}), 96U);
  EXPECT_EQ(bytes_of_images({{"series", 96}}), 0U);
}

}  // namespace
}  // namespace paceline::algorithms
