#include "paceline/train/batch/epoch_pass.h"

#include "support/queued_device.h"
#include "support/run_ranks.h"
#include "unit/train/scripted_run.h"

#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::OwnedLoader;
using paceline::test::QueuedDevice;

using Numbers = std::vector<std::int64_t>;

class EpochPassTest : public ::testing::Test {
 protected:
  std::unique_ptr<comm::Communicator> communicator_ = comm::make_fake_communicator(0, 1);
  OwnedLoader loader_{7, 2, true, *communicator_};  // 4 batches, the last one of one sample
  std::atomic<int> signal_{0};
};

TEST_F(EpochPassTest, LooksAtAllSamplesOfAnEpoch) {
  QueuedDevice queued;
  for (tensor::Device* const device :
       {&tensor::cpu_device(), static_cast<tensor::Device*>(&queued)}) {
    BatchFeed feed(*loader_, *device);
    feed.seek(1);
    EpochPass pass(feed, *communicator_, *device, signal_);
    Numbers numbers;
    std::multiset<std::int64_t> samples;
    EXPECT_TRUE(pass.run(4, 4, [&](std::int64_t number, Batch batch) {
      numbers.push_back(number);
      samples.insert(batch.indices.begin(), batch.indices.end());
      EXPECT_EQ(batch.fields.at(kImages).size(0), batch.size);
    }));
    EXPECT_THAT(numbers, ::testing::ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(samples, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6));
    EXPECT_GT(pass.seconds(), 0);
  }
}

TEST_F(EpochPassTest, EndsOnAllRanksWhereOneIsAskedTo) {
  for (const bool waits_for_data : {false, true}) {
    paceline::test::run_ranks(2, [&](comm::Communicator& ranks) {
      OwnedLoader loader(8, 2, true, ranks);
      std::atomic<int> signal{0};
      if (waits_for_data && ranks.rank() == 1) loader.stop_at(2, signal);
      BatchFeed feed(*loader, tensor::cpu_device());
      EpochPass pass(feed, ranks, tensor::cpu_device(), signal);
      Numbers numbers;
      EXPECT_FALSE(pass.run(0, 4, [&](std::int64_t number, const Batch&) {
        numbers.push_back(number);
        if (!waits_for_data && ranks.rank() == 1 && number == 1) signal = SIGTERM;
      }));
      EXPECT_THAT(numbers, ::testing::ElementsAre(0, 1));
    });
  }
}

}  // namespace
}  // namespace paceline::train
