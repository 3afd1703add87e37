#include "paceline/train/batch/batch_feed.h"

#include "support/queued_device.h"
#include "unit/train/scripted_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::OwnedLoader;
using paceline::test::QueuedDevice;

class BatchFeedTest : public ::testing::Test {
 protected:
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  OwnedLoader loader_{8, 2, true, *communicator_};
  OwnedLoader reference_{8, 2, true, *communicator_};
  QueuedDevice device_;
};

TEST_F(BatchFeedTest, OnTheCpuNothingIsCopiedOrReadAhead) {
  BatchFeed feed(*loader_, tensor::cpu_device());
  const Batch batch = feed.next();
  feed.prefetch();
  EXPECT_EQ((*loader_).position(), 1);
  EXPECT_EQ(batch.size, 2);
}

TEST_F(BatchFeedTest, BatchesComeInTheLoadersOrderWithAndWithoutPrefetch) {
  BatchFeed feed(*loader_, device_);
  for (int number = 0; number < 5; ++number) {
    const Batch batch = feed.next();
    const Batch expected = wrap((*reference_).next());
    EXPECT_TRUE(batch.fields.at(kImages).cpu().equal(expected.fields.at(kImages)));
    EXPECT_EQ(batch.fields.at(kImages).strides(), expected.fields.at(kImages).strides());
    EXPECT_TRUE(batch.fields.at(kLabels).cpu().equal(expected.fields.at(kLabels)));
    EXPECT_EQ(batch.indices, expected.indices);
    if (number % 2 == 0) feed.prefetch();
  }
  EXPECT_EQ(device_.calls.size(), 6u);  // the last prefetch is a batch ahead
}

TEST_F(BatchFeedTest, HostMemoryGoesBackWhenTheNextBatchIsTaken) {
  BatchFeed feed(*loader_, device_);
  feed.next();
  EXPECT_EQ(device_.num_host_batches_held, 1);
  feed.prefetch();
  EXPECT_EQ(device_.num_host_batches_held, 2);
  feed.next();
  EXPECT_EQ(device_.num_host_batches_held, 1);
}

TEST_F(BatchFeedTest, SeekForgetsWhatWasReadAhead) {
  BatchFeed feed(*loader_, device_);
  const Batch first = feed.next();
  feed.prefetch();
  feed.seek(0);
  EXPECT_EQ(feed.next().indices, first.indices);
}

}  // namespace
}  // namespace paceline::train
