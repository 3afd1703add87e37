#include "paceline/comm/c10d/c10d_types.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace paceline::comm {
namespace {

TEST(C10dTypes, BoolsAreCombinedByOrAndByAnd) {
  EXPECT_EQ(to_c10d(ReduceOp::kSum, at::kFloat), c10d::ReduceOp::SUM);
  EXPECT_EQ(to_c10d(ReduceOp::kSum, at::kBool), c10d::ReduceOp::MAX);
  EXPECT_EQ(to_c10d(ReduceOp::kMin, at::kBool), c10d::ReduceOp::MIN);
  EXPECT_EQ(to_c10d(ReduceOp::kMax, at::kLong), c10d::ReduceOp::MAX);
}

TEST(C10dTypes, BytesAreTheTensorsOwn) {
  const at::Tensor tensor = at::zeros({2, 3});
  const at::Tensor bytes = as_bytes(tensor);
  EXPECT_EQ(bytes.numel(), 24);
  bytes.fill_(0xff);
  EXPECT_TRUE(tensor.isnan().all().item<bool>());
  EXPECT_ANY_THROW(as_bytes(tensor.t()));
}

TEST(C10dTypes, AnErrorIsOneLineWithoutAStackTrace) {
  EXPECT_EQ(first_line(std::runtime_error("one\ntwo")), "one");
  try {
    TORCH_CHECK(false, "of LibTorch");
  } catch (const std::exception& error) {
    EXPECT_EQ(first_line(error), "of LibTorch");
  }
}

}  // namespace
}  // namespace paceline::comm
