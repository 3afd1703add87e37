#include "paceline/data/codec/jpeg_facts.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::Eq;
using ::testing::Optional;

/// A file that ends behind its start of frame.
std::vector<std::uint8_t> frame(std::uint8_t marker, std::vector<std::uint8_t> sampling) {
  std::vector<std::uint8_t> bytes = {0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, marker, 0};
  bytes.push_back(static_cast<std::uint8_t>(8 + 3 * sampling.size()));
  const auto count = static_cast<std::uint8_t>(sampling.size());
  bytes.insert(bytes.end(), {8, 0, 16, 0, 16, count});
  for (const std::uint8_t factors : sampling) bytes.insert(bytes.end(), {1, factors, 0});
  return bytes;
}

TEST(JpegFacts, NamesProcessAndSampling) {
  const auto of = [](std::uint8_t marker, std::vector<std::uint8_t> sampling) {
    return describe_jpeg(frame(marker, std::move(sampling)));
  };
  EXPECT_THAT(of(0xC0, {0x22, 0x11, 0x11}), Optional(Eq("baseline 4:2:0")));
  EXPECT_THAT(of(0xC0, {0x11, 0x11, 0x11}), Optional(Eq("baseline 4:4:4")));
  EXPECT_THAT(of(0xC0, {0x21, 0x11, 0x11}), Optional(Eq("baseline 4:2:2")));
  EXPECT_THAT(of(0xC0, {0x12, 0x11, 0x11}), Optional(Eq("baseline 4:4:0")));
  EXPECT_THAT(of(0xC1, {0x41, 0x11, 0x11}), Optional(Eq("extended 4:1:1")));
  EXPECT_THAT(of(0xC2, {0x11}), Optional(Eq("progressive grey")));
  EXPECT_THAT(of(0xC9, {0x11, 0x11, 0x11, 0x11}), Optional(Eq("arithmetic CMYK")));
  EXPECT_THAT(of(0xC3, {0x11, 0x11}), Optional(Eq("lossless or hierarchical 2 parts")));
  EXPECT_THAT(of(0xC0, {0x22, 0x10, 0x11}), Optional(Eq("baseline of no sampling")));
}

TEST(JpegFacts, EveryTruncationIsNothing) {
  const std::vector<std::uint8_t> whole = frame(0xC0, {0x22, 0x11, 0x11});
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(describe_jpeg(std::span(whole).first(size)), std::nullopt) << size;
}

}  // namespace
}  // namespace paceline::data
