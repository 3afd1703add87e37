#include "paceline/algorithms/microbatch/index_sender.h"

#include "support/queued_device.h"

#include <gtest/gtest.h>

namespace paceline::algorithms {
namespace {

TEST(IndexSender, KeepsWhatIsOnItsWay) {
  test::QueuedDevice device(0);
  IndexSender sender;
  for (int step = 0; step < 3; ++step) {
    sender.begin_step();
    const std::vector<std::int64_t> first(static_cast<std::size_t>(2 + step), step);
    const std::vector<std::int64_t> second{7, 8, 9};
    const at::Tensor one = sender.send(first, device);
    const at::Tensor other = sender.send(second, device);
    EXPECT_EQ(device.gpu().counts().waits, 0);
    EXPECT_EQ(device.gpu().counts().pageable_copies, 0);
    EXPECT_TRUE(device.read(one).equal(at::full({2 + step}, step, at::kLong)));
    EXPECT_TRUE(device.read(other).equal(at::tensor(second)));
    device.gpu().reset_counts();
  }
}

TEST(IndexSender, UsesItsMemoryAgainInTheNextStep) {
  IndexSender sender;
  const std::vector<std::int64_t> indices{3, 1, 2};
  const void* const memory = sender.send(indices, tensor::cpu_device()).const_data_ptr();
  EXPECT_NE(sender.send(indices, tensor::cpu_device()).const_data_ptr(), memory);
  sender.begin_step();
  EXPECT_EQ(sender.send(indices, tensor::cpu_device()).const_data_ptr(), memory);
}

}  // namespace
}  // namespace paceline::algorithms
