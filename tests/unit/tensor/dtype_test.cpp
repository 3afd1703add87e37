#include "paceline/tensor/dtype.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

TEST(Dtype, NamesGoBothWays) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf}) {
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(dtype_name(at::kFloat), "float32");
  EXPECT_EQ(dtype_name(at::kLong), "");
  EXPECT_THROW(dtype_from_name("int64"), base::InternalError);
}

}  // namespace
}  // namespace paceline::tensor
