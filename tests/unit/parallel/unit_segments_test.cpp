#include "paceline/parallel/unit_segments.h"

#include "paceline/base/error.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

/// A vector of 6, a matrix of 4 rows of 10, a scalar.
optim::ParameterShards some_parameters() {
  return {.parameters = {{.sizes = {6}}, {.sizes = {4, 10}}, {.sizes = {}}}};
}

void expect_segment(const UnitSegment& found, const UnitSegment& wanted) {
  EXPECT_EQ(found.begin, wanted.begin);
  EXPECT_EQ(found.first_unit, wanted.first_unit);
  EXPECT_EQ(found.num_units, wanted.num_units);
  EXPECT_EQ(found.length, wanted.length);
}

TEST(Units, OfAVectorIsOneAndOfAMatrixItsRows) {
  const Units units(some_parameters());
  EXPECT_EQ(units.count(), 6);
  expect_segment(units.of_parameter(0), {0, 0, 1, 6});
  expect_segment(units.of_parameter(1), {0, 1, 4, 10});
  expect_segment(units.of_parameter(2), {0, 5, 1, 1});
}

TEST(Units, OfAPieceMayBePartsAtBothEnds) {
  const Units units(some_parameters());
  // Elements 7 to 34 of the matrix, from element 100 of a slot on.
  const std::vector<UnitSegment> segments = units.segments({1, 100, 127, 7});
  ASSERT_EQ(segments.size(), 3U);
  expect_segment(segments[0], {100, 1, 1, 3});
  expect_segment(segments[1], {103, 2, 2, 10});
  expect_segment(segments[2], {123, 4, 1, 4});
  const std::vector<UnitSegment> within = units.segments({1, 0, 5, 12});
  ASSERT_EQ(within.size(), 1U);
  expect_segment(within[0], {0, 2, 1, 5});
  EXPECT_TRUE(units.segments({1, 4, 4, 12}).empty());
}

TEST(Units, MustLieOneAfterTheOther) {
  optim::ParameterShards shards = some_parameters();
  shards.parameters[1].order = {1, 0};
  EXPECT_THROW(Units{shards}, base::InternalError);
}

}  // namespace
}  // namespace paceline::parallel
