#include "paceline/data/codec/jpeg/segment.h"

#include <vector>

#include <gmock/gmock.h>

namespace paceline::data::jpeg {
namespace {

using testing::ElementsAre;
using Bytes = std::vector<std::uint8_t>;

Bytes content(const Segment& segment) { return {segment.data(), segment.data() + segment.size()}; }

TEST(Segment, LeavesOutStuffedZerosAndStopsAtAMarker) {
  const Bytes file = {9, 9, 1, 0xFF, 0, 2, 0xFF, 0, 0xFF, 0, 3, 0xFF, 0xD0, 4};
  Segment segment;
  segment.load(file, 2, file.size());
  EXPECT_THAT(content(segment), ElementsAre(1, 0xFF, 2, 0xFF, 0xFF, 3));
  EXPECT_EQ(segment.end_in_file(), 11U);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i <= segment.size(); ++i) places.push_back(segment.place_in_file(i));
  EXPECT_THAT(places, ElementsAre(2, 3, 5, 6, 8, 10, 11));
  for (std::size_t i = 0; i < Segment::kPadding; ++i) {
    ASSERT_EQ(segment.data()[segment.size() + i], 0);
  }
}

TEST(Segment, EndsWhereItIsTold) {
  const Bytes file = {1, 0xFF, 0, 2, 3};
  Segment segment;
  segment.load(file, 0, 4);
  EXPECT_THAT(content(segment), ElementsAre(1, 0xFF, 2));
  EXPECT_EQ(segment.end_in_file(), 4U);
  segment.load(file, 1, 2);  // half a marker
  EXPECT_THAT(content(segment), ElementsAre());
  EXPECT_EQ(segment.end_in_file(), 1U);
}

}  // namespace
}  // namespace paceline::data::jpeg
