#include "paceline/data/loader/host_batch.h"

#include <algorithm>
#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kCount = 4;

/// Images of 1 x 2 pixels; those of sample i are all i.
HostBatch batch_of(PixelForm form) {
  HostBatch batch;
  batch.count = kCount;
  batch.height = 1;
  batch.width = 2;
  batch.form = form;
  batch.pixels = std::make_shared<std::array<float, 6 * kCount>>();
  batch.labels = std::shared_ptr<std::int64_t>(new std::int64_t[kCount],
                                               std::default_delete<std::int64_t[]>());
  for (std::int64_t i = 0; i < kCount; ++i) {
    if (form == PixelForm::kFloats) {
      std::fill_n(batch.floats() + 6 * i, 6, static_cast<float>(i));
    } else {
      std::fill_n(batch.image(i), 6, static_cast<std::byte>(i));
    }
    batch.labels.get()[i] = 10 + i;
    batch.indices.push_back(20 + i);
    batch.erased.emplace_back();
  }
  batch.erased[3] = EraseStep{{0, 0, 1, 1}, {3, 3, 3}};
  return batch;
}

TEST(HostBatch, LeavesSamplesOut) {
  for (const PixelForm form : {PixelForm::kFloats, PixelForm::kBytes}) {
    HostBatch batch = batch_of(form);
    remove_samples(batch, std::array<std::int64_t, 2>{0, 2});
    EXPECT_EQ(batch.count, 2);
    EXPECT_THAT(batch.indices, ElementsAre(21, 23));
    EXPECT_EQ(batch.labels.get()[1], 13);
    ASSERT_EQ(batch.erased.size(), 2u);
    EXPECT_FALSE(batch.erased[0]);
    EXPECT_TRUE(batch.erased[1]);
    if (form == PixelForm::kFloats) {
      EXPECT_EQ(batch.floats()[0], 1.0f);
      EXPECT_EQ(batch.floats()[11], 3.0f);
    } else {
      EXPECT_EQ(*batch.image(0), std::byte{1});
      EXPECT_EQ(batch.image(1)[5], std::byte{3});
    }
  }
}

}  // namespace
}  // namespace paceline::data
