#include "paceline/data/formats/interleave.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Planes, BecomeTriples) {
  for (const std::size_t count : {0, 1, 31, 32, 33, 64, 100}) {
    constexpr std::size_t kPlane = 105;
    std::vector<std::uint8_t> planes(3 * kPlane);
    std::iota(planes.begin(), planes.end(), std::uint8_t{0});
    for (const std::size_t plane : {kPlane, std::size_t{0}}) {
      std::vector<std::uint8_t> triples(3 * count + 1, 7);
      interleave_planes(planes.data(), plane, count, triples.data());
      for (std::size_t i = 0; i < 3 * count; ++i) {
        ASSERT_EQ(triples[i], planes[i % 3 * plane + i / 3]) << count << " " << i;
      }
      EXPECT_EQ(triples.back(), 7);
    }
  }
}

}  // namespace
}  // namespace paceline::data
