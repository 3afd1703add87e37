#include "paceline/train/batch/batch.h"

#include "paceline/base/error.h"
#include "support/image_batch.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

std::unique_ptr<data::HostBatch> host_batch(std::int64_t count, bool channels_last) {
  auto host = paceline::test::image_batch(count, 2, 3, channels_last);
  host->global_count = 2 * count;
  host->first_position = 100;
  float* const floats = paceline::test::floats_of(*host);
  std::iota(floats, floats + count * 3 * 2 * 3, 0.0f);
  std::int64_t* const labels = paceline::test::labels_of(*host);
  std::iota(labels, labels + count, 0);
  for (std::int64_t i = 0; i < count; ++i) host->indices.push_back(10 * i);
  return host;
}

TEST(Batch, WrapsBothMemoryOrders) {
  const Batch plain = wrap(host_batch(4, false));
  EXPECT_EQ(plain.fields.at(kImages).sizes(), (std::vector<std::int64_t>{4, 3, 2, 3}));
  EXPECT_TRUE(plain.fields.at(kImages).is_contiguous());
  EXPECT_EQ(plain.fields.at(kImages)[0][1][0][0].item<float>(), 6.0f);

  const Batch channels_last = wrap(host_batch(4, true));
  EXPECT_TRUE(channels_last.fields.at(kImages).is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(channels_last.fields.at(kImages)[0][1][0][0].item<float>(), 1.0f);
  EXPECT_EQ(channels_last.fields.at(kImages)[0][0][0][1].item<float>(), 3.0f);
  EXPECT_EQ(channels_last.global_size, 8);
}

TEST(Batch, KeepsTheLoadersMemoryAlive) {
  auto host = host_batch(2, true);
  const std::weak_ptr<void> memory = host->fields[0].memory;
  host->fields[1].memory = nullptr;  // which is the same
  Batch batch = wrap(std::move(host));
  EXPECT_FALSE(memory.expired());
  batch = {};
  EXPECT_TRUE(memory.expired());
}

TEST(Batch, WrapsFieldsOfAnyRank) {
  const std::vector<data::FieldSpec> fields{
      {.name = "volume", .type = data::FieldType::kInt16, .sizes = {2, 3, 4, 5}},
      {.name = "views",
       .type = data::FieldType::kFloat64,
       .sizes = {2, 3, 4, 5},
       .channels_last = true},
      {.name = "score", .type = data::FieldType::kFloat16}};
  const std::shared_ptr<std::byte[]> memory(new std::byte[data::batch_bytes(fields, 2)]());
  auto host = std::make_unique<data::HostBatch>();
  host->fields = data::lay_out(fields, 2, {memory, memory.get()});
  host->count = 2;
  const Batch batch = wrap(std::move(host));
  EXPECT_EQ(batch.fields.at("volume").scalar_type(), at::kShort);
  EXPECT_TRUE(batch.fields.at("volume").is_contiguous());
  EXPECT_TRUE(batch.fields.at("views").is_contiguous(at::MemoryFormat::ChannelsLast3d));
  EXPECT_EQ(batch.fields.at("score").sizes(), (std::vector<std::int64_t>{2}));
}

TEST(Batch, SplitsIntoConsecutivePartsAndARaggedLast) {
  const Batch batch = wrap(host_batch(7, true));
  const std::vector<Batch> parts = split(batch, 3, 2);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].size, 3);
  EXPECT_EQ(parts[2].size, 1);
  EXPECT_EQ(parts[2].first_position, 106);
  EXPECT_EQ(parts[2].indices, (std::vector<std::int64_t>{60}));
  EXPECT_EQ(parts[1].global_size, 14);
  EXPECT_TRUE(at::equal(at::cat({parts[0].fields.at(kImages), parts[1].fields.at(kImages),
                                 parts[2].fields.at(kImages)}),
                        batch.fields.at(kImages)));
}

TEST(Batch, EveryRankHasAsManyParts) {
  const auto sizes = [](std::int64_t share, std::int64_t global_size) {
    Batch batch = wrap(host_batch(share, true));
    batch.global_size = global_size;
    std::vector<std::int64_t> found;
    for (const Batch& part : split(batch, 3, 2)) found.push_back(part.size);
    return found;
  };
  using testing::ElementsAre;
  EXPECT_THAT(sizes(5, 9), ElementsAre(2, 2, 1));
  EXPECT_THAT(sizes(4, 9), ElementsAre(2, 2, 0));
  EXPECT_THAT(sizes(1, 1), ElementsAre(1));
  EXPECT_THAT(sizes(0, 1), ElementsAre(0));
  EXPECT_THROW(sizes(3, 9), base::InternalError) << "samples would get lost";
}

}  // namespace
}  // namespace paceline::train
