#include "paceline/data/loader/host_batch.h"

#include "paceline/base/error.h"
#include "support/image_batch.h"

#include <algorithm>
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kCount = 4;

/// Images of 1 x 2 pixels; those of sample i are all i.
std::unique_ptr<HostBatch> batch_of(bool as_bytes) {
  auto batch = test::image_batch(kCount, 1, 2, /*channels_last=*/true, as_bytes);
  for (std::int64_t i = 0; i < kCount; ++i) {
    if (as_bytes) {
      std::fill_n(batch->at(kImagesField).sample(i), 6, static_cast<std::byte>(i));
    } else {
      std::fill_n(test::floats_of(*batch) + 6 * i, 6, static_cast<float>(i));
    }
    test::labels_of(*batch)[i] = 10 + i;
    batch->indices.push_back(20 + i);
    batch->erased.emplace_back();
  }
  batch->erased[3] = {EraseStep{{0, 0, 1, 1}, {3, 3, 3}}};
  return batch;
}

TEST(HostBatch, LeavesSamplesOutOfEveryField) {
  for (const bool as_bytes : {false, true}) {
    const auto batch = batch_of(as_bytes);
    remove_samples(*batch, std::array<std::int64_t, 2>{0, 2});
    EXPECT_EQ(batch->count, 2);
    EXPECT_THAT(batch->indices, ElementsAre(21, 23));
    EXPECT_EQ(test::labels_of(*batch)[1], 13);
    ASSERT_EQ(batch->erased.size(), 2u);
    EXPECT_TRUE(batch->erased[0].empty());
    EXPECT_EQ(batch->erased[1].size(), 1u);
    if (as_bytes) {
      EXPECT_EQ(*batch->at(kImagesField).sample(0), std::byte{1});
      EXPECT_EQ(batch->at(kImagesField).sample(1)[5], std::byte{3});
    } else {
      EXPECT_EQ(test::floats_of(*batch)[0], 1.0f);
      EXPECT_EQ(test::floats_of(*batch)[11], 3.0f);
    }
  }
}

TEST(HostBatch, FieldsLieOneBehindTheOtherInAlignedMemory) {
  const std::vector<FieldSpec> fields{{.name = "volume", .type = FieldType::kInt16, .sizes = {3}},
                                      {.name = "mask", .type = FieldType::kUInt8, .sizes = {2, 2}},
                                      {.name = "score", .type = FieldType::kFloat64}};
  EXPECT_EQ(batch_bytes(fields, 5), 3 * 64u);
  const std::shared_ptr<std::byte[]> memory(new std::byte[batch_bytes(fields, 5)]);
  const auto placed = lay_out(fields, 5, {memory, memory.get()});
  EXPECT_EQ(placed[0].sample(4) - memory.get(), 4 * 6);
  EXPECT_EQ(placed[1].sample(4) - memory.get(), 64 + 4 * 4);
  EXPECT_EQ(placed[2].sample(4) - memory.get(), 128 + 4 * 8);
}

TEST(HostBatch, AnAbsentFieldIsNamed) {
  EXPECT_THAT([] { test::image_batch(1, 1, 1)->at("masks"); },
              ::testing::ThrowsMessage<base::InternalError>(::testing::HasSubstr("'masks'")));
}

}  // namespace
}  // namespace paceline::data
