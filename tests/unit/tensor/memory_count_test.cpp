#include "paceline/tensor/memory_count.h"

#include "paceline/tensor/aten.h"

#include <thread>

#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// The allocator may give a little more than was asked for.
void expect_about(std::int64_t bytes, std::int64_t expected) {
  EXPECT_GE(bytes, expected);
  EXPECT_LE(bytes, expected + expected / 8 + 4096);
}

class MemoryCountTest : public ::testing::Test {
 protected:
  MemoryCountTest() {
    count_tensor_memory();
    restart_peak();
    before_ = tensor_memory().current;
  }
  std::int64_t held() const { return tensor_memory().current - before_; }
  std::int64_t most() const { return tensor_memory().peak - before_; }

  std::int64_t before_;
};

TEST_F(MemoryCountTest, CountsWhatIsHeldAndTheMostThatWas) {
  const at::Tensor kept = at::empty({kMiB}, at::kByte);
  expect_about(held(), kMiB);
  at::empty({3 * kMiB}, at::kByte);
  expect_about(held(), kMiB);
  expect_about(most(), 4 * kMiB);
  restart_peak();
  expect_about(most(), kMiB);
}

TEST_F(MemoryCountTest, ATensorMayEndOnAnotherThread) {
  at::Tensor moved = at::empty({kMiB}, at::kByte);
  std::thread([tensor = std::move(moved)]() mutable { tensor.reset(); }).join();
  EXPECT_EQ(held(), 0);
}

TEST_F(MemoryCountTest, MemoryThatAStorageGivesBackAndGetsAgainCounts) {
  const at::Tensor tensor = at::empty({kMiB}, at::kByte);
  const at::Storage& storage = tensor.storage();
  storage.set_data_ptr_noswap(at::DataPtr(nullptr, tensor.device()));
  EXPECT_EQ(held(), 0) << "as a gathered unit that is freed";
  storage.set_data_ptr_noswap(storage.allocator()->allocate(kMiB));
  expect_about(held(), kMiB);
}

TEST_F(MemoryCountTest, CountingTwiceIsCountingOnce) {
  count_tensor_memory();
  const at::Tensor tensor = at::empty({kMiB}, at::kByte);
  expect_about(held(), kMiB);
}

TEST_F(MemoryCountTest, RefusesWhatIsMoreThanTheLimit) {
  const at::Tensor kept = at::empty({kMiB}, at::kByte);
  limit_tensor_memory(before_ + 3 * kMiB);
  EXPECT_NO_THROW(at::empty({kMiB}, at::kByte));
  EXPECT_THROW(at::empty({4 * kMiB}, at::kByte), c10::OutOfMemoryError);
  limit_tensor_memory(std::nullopt);
  expect_about(tensor_memory().refused - before_, 5 * kMiB);
  expect_about(held(), kMiB);
  expect_about(most(), 2 * kMiB);
  EXPECT_NO_THROW(at::empty({4 * kMiB}, at::kByte));
  restart_peak();
  EXPECT_EQ(tensor_memory().refused, 0);
}

}  // namespace
}  // namespace paceline::tensor
