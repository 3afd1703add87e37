#include "paceline/tensor/flat_layout.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TensorSpec floats(const std::string& name, std::int64_t numel, std::int64_t group = 0) {
  return {name, "float32", {numel}, {1}, group};
}

std::vector<std::string> names(const FlatLayout& layout, std::int64_t bucket) {
  std::vector<std::string> found;
  for (const FlatSlot& slot : layout.slots) {
    if (slot.bucket == bucket) found.push_back(slot.spec.name);
  }
  return found;
}

// 40-byte first bucket, 80-byte others; floats are 4 bytes.
constexpr std::int64_t kFirst = 40;
constexpr std::int64_t kOther = 80;

TEST(FlatLayout, ReverseOrderClosedWhenFull) {
  const std::vector<TensorSpec> specs{floats("a", 5), floats("b", 20), floats("c", 2),
                                      floats("d", 9)};
  const FlatLayout layout =
      FlatLayout::build(specs, {.first_bucket_bytes = kFirst, .bucket_bytes = kOther});
  ASSERT_EQ(layout.buckets.size(), 3U);
  EXPECT_THAT(names(layout, 0), ElementsAre("d", "c"));
  EXPECT_THAT(names(layout, 1), ElementsAre("b"));
  EXPECT_THAT(names(layout, 2), ElementsAre("a"));
  for (const FlatSlot& slot : layout.slots) EXPECT_EQ(slot.offset % 16, 0) << slot.spec.name;
  EXPECT_EQ(layout.buckets[0].end, 32);
  EXPECT_EQ(layout.buckets[1].begin, 32);
}

TEST(FlatLayout, TheLastTensorsAreABucketOfTheirOwn) {
  const std::vector<TensorSpec> specs{floats("a", 5), floats("b", 2), floats("c", 8),
                                      floats("d", 9), floats("e", 20)};
  const auto names_with = [&](std::int64_t last_bytes) {
    const FlatLayout layout = FlatLayout::build(
        specs,
        {.first_bucket_bytes = kOther, .bucket_bytes = 4096, .last_bucket_bytes = last_bytes});
    std::vector<std::vector<std::string>> found;
    for (std::size_t i = 0; i < layout.buckets.size(); ++i) {
      found.push_back(names(layout, static_cast<std::int64_t>(i)));
    }
    return found;
  };
  const auto first = ElementsAre("e");
  EXPECT_THAT(names_with(0), ElementsAre(first, ElementsAre("d", "c", "b", "a")));
  EXPECT_THAT(names_with(28), ElementsAre(first, ElementsAre("d", "c"), ElementsAre("b", "a")));
  EXPECT_THAT(names_with(27), ElementsAre(first, ElementsAre("d", "c", "b"), ElementsAre("a")));
  EXPECT_THAT(names_with(1), ElementsAre(first, ElementsAre("d", "c", "b"), ElementsAre("a")));
  EXPECT_THAT(names_with(4096), ElementsAre(first, ElementsAre("d", "c", "b", "a")));
}

TEST(FlatLayout, NoPaddingAtItemAlignment) {
  const std::vector<TensorSpec> specs{floats("a", 5), floats("b", 3)};
  const FlatLayout layout = FlatLayout::build(specs, {.alignment_bytes = 4});
  ASSERT_EQ(layout.buckets.size(), 1U);
  EXPECT_EQ(layout.slots[1].offset, 3);
  EXPECT_EQ(layout.buckets[0].end, 8);
}

TEST(FlatLayout, GroupsAreNeighboursInABucket) {
  const std::vector<TensorSpec> specs{floats("w1", 4, 1), floats("b1", 4, 0), floats("w2", 4, 1),
                                      floats("b2", 4, 0)};
  const FlatLayout layout = FlatLayout::build(specs, {});
  EXPECT_THAT(names(layout, 0), ElementsAre("b2", "b1", "w2", "w1"));
  ASSERT_EQ(layout.ranges.size(), 2U);
  EXPECT_EQ(layout.ranges[0], (FlatRange{0, 0, 0, 2, 0, 32}));
  EXPECT_EQ(layout.ranges[1], (FlatRange{0, 1, 2, 4, 32, 64}));
}

TEST(FlatLayout, BucketsHoldOneDtypeAndAreOrderedByTheirLastTensor) {
  const std::vector<TensorSpec> specs{
      floats("a", 1), {"b", "float64", {1}, {1}, 0}, floats("c", 1)};
  const FlatLayout layout = FlatLayout::build(specs, {});
  ASSERT_EQ(layout.buckets.size(), 2U);
  EXPECT_THAT(names(layout, 0), ElementsAre("b"));
  EXPECT_THAT(names(layout, 1), ElementsAre("c", "a"));
  EXPECT_EQ(layout.buckets[0].dtype, "float64");
  EXPECT_EQ(layout.buckets[1].begin, 0);  // offsets count in the arena of the dtype
}

TEST(FlatLayout, AUsersOwnOrderComesFirst) {
  const std::vector<TensorSpec> specs{floats("a", 1), floats("b", 1), floats("c", 1),
                                      floats("d", 1)};
  EXPECT_THAT(names(FlatLayout::build(specs, {.order = {"b", "d"}}), 0),
              ElementsAre("b", "d", "c", "a"));
  EXPECT_THAT([&] { FlatLayout::build(specs, {.order = {"x"}}); },
              ThrowsMessage<base::ConfigError>(HasSubstr("'x'")));
  EXPECT_THAT(
      [&] {
        FlatLayout::build(specs, {.order = {"b", "b"}});
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("twice")));
}

TEST(FlatLayout, DescribeNamesWhatCannotBeLaidOut) {
  EXPECT_EQ(describe("w", at::zeros({2, 3}).t(), 1),
            (TensorSpec{"w", "float32", {3, 2}, {1, 3}, 1}));
  EXPECT_THAT(
      [] {
        describe("gap", at::zeros({4, 4}).narrow(1, 0, 2), 0);
      },
      ThrowsMessage<base::InternalError>(HasSubstr("'gap'")));
  EXPECT_THAT([] { describe("count", at::zeros({2}, at::kLong), 0); },
              ThrowsMessage<base::InternalError>(HasSubstr("'count'")));
}

}  // namespace
}  // namespace paceline::tensor
