#include "paceline/checkpoint/format/dtypes.h"

#include "paceline/base/error.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

TEST(Dtypes, NamesGoBothWays) {
  for (const at::ScalarType dtype : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong,
                                     at::kInt, at::kShort, at::kChar, at::kByte, at::kBool}) {
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_name(at::kBFloat16), "BF16");
  EXPECT_EQ(dtype_from_name("F31"), std::nullopt);
  EXPECT_THROW(dtype_name(at::kComplexFloat), base::CheckpointError);
}

TEST(Dtypes, SizesAreCheckedForOverflow) {
  using Shape = std::vector<std::int64_t>;
  EXPECT_EQ(checked_numel(Shape{}), 1);
  EXPECT_EQ(checked_numel(Shape{2, 3, 4}), 24);
  EXPECT_EQ(checked_numel(Shape{2, -1}), std::nullopt);
  EXPECT_EQ(checked_numel(Shape{1LL << 32, 1LL << 31}), std::nullopt);
  EXPECT_EQ(checked_numel(Shape{1LL << 62, 1LL << 62, 0}), 0);
  EXPECT_EQ(checked_byte_size(Shape{3, 5}, at::kDouble), 120u);
  EXPECT_EQ(checked_byte_size(Shape{1LL << 62}, at::kDouble), std::nullopt);
}

TEST(Dtypes, ShapeText) {
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{64, 3, 7, 7}), "[64, 3, 7, 7]");
  EXPECT_EQ(shape_text({}), "[]");
}

}  // namespace
}  // namespace paceline::checkpoint
