#include "paceline/data/loader/field.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(Field, KnowsItsBytes) {
  EXPECT_EQ(sample_bytes({.name = "a", .type = FieldType::kInt64}), 8u);
  EXPECT_EQ(sample_bytes({.name = "b", .type = FieldType::kFloat16, .sizes = {1, 4, 4, 4}}), 128u);
  EXPECT_EQ(sample_bytes({.name = "c", .type = FieldType::kUInt8, .sizes = {3, 0}}), 0u);
  EXPECT_EQ(bytes_of(FieldType::kInt32), 4u);
  EXPECT_EQ(bytes_of(FieldType::kFloat64), 8u);
}

}  // namespace
}  // namespace paceline::data
