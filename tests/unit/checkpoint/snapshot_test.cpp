#include "paceline/checkpoint/snapshot.h"

#include "paceline/base/error.h"
#include "support/queued_device.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::checkpoint {
namespace {

using tensor::StateShard;

StateShard shard_of(std::string name, const at::Tensor& data, bool is_writer = true) {
  return {.name = std::move(name),
          .data = data,
          .shape = data.sizes().vec(),
          .begin = 0,
          .end = data.numel(),
          .is_writer = is_writer};
}

TEST(Snapshot, KeepsValuesAndStridesWhateverBecomesOfTheShards) {
  const at::Tensor image = at::arange(48, at::kFloat).view({2, 3, 2, 4});
  const at::Tensor large = at::arange(3'000'000, at::kInt);  // several pieces
  const std::vector<StateShard> shards{
      shard_of("channels_last", image.contiguous(at::MemoryFormat::ChannelsLast)),
      shard_of("with gaps", image.clone().slice(3, 1, 3)),
      shard_of("half", at::arange(5).to(at::kBFloat16)),
      shard_of("scalar", at::scalar_tensor(7, at::kLong)),
      shard_of("empty", at::empty({0, 3})),
      shard_of("large", large.clone())};
  Snapshot snapshot;
  const std::vector<StateShard> copies = snapshot.take(shards);
  std::vector<at::Tensor> expected;
  for (const StateShard& shard : shards) {
    expected.push_back(shard.data.clone());
    shard.data.zero_();
  }
  ASSERT_EQ(copies.size(), shards.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    EXPECT_TRUE(copies[i].data.equal(expected[i])) << copies[i].name;
    EXPECT_EQ(copies[i].data.scalar_type(), expected[i].scalar_type()) << copies[i].name;
  }
  EXPECT_EQ(copies[0].data.strides(), shards[0].data.strides());
}

TEST(Snapshot, LeavesOutWhatOthersWriteAndKeepsItsMemory) {
  const std::vector<StateShard> shards{shard_of("own", at::ones({1000})),
                                       shard_of("another's", at::ones({1000}), false)};
  Snapshot snapshot;
  const auto first = snapshot.take(shards);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].name, "own");
  EXPECT_EQ(snapshot.take(shards)[0].data.data_ptr(), first[0].data.data_ptr());
}

TEST(Snapshot, GrowsWithTheState) {
  Snapshot snapshot;
  snapshot.take(std::vector{shard_of("small", at::ones({4}))});
  const auto copies = snapshot.take(std::vector{shard_of("larger", at::full({4000}, 2.0))});
  EXPECT_EQ(copies[0].data.sum().item<double>(), 8000);
}

TEST(Snapshot, OfADeviceThatQueuesItsWorkIsOneWait) {
  paceline::test::QueuedDevice device;
  std::vector<StateShard> shards;
  for (int i = 0; i < 20; ++i) {
    const at::Tensor data = at::full({2, 3}, i, at::TensorOptions(device.place()));
    shards.push_back(shard_of("shard", i % 2 == 0 ? data : data.t()));
  }
  Snapshot snapshot;
  snapshot.reserve(shards, device);
  device.gpu().reset_counts();
  const auto copies = snapshot.take(shards, device);
  EXPECT_EQ(device.gpu().counts().waits, 1);
  for (int i = 0; i < 20; ++i) {
    const at::Tensor& copy = copies[static_cast<std::size_t>(i)].data;
    EXPECT_TRUE(copy.equal(at::full_like(copy, i))) << copy;
  }
}

TEST(Snapshot, OfADeviceNeedsThatDevice) {
  paceline::test::QueuedDevice device;
  const std::vector shards{shard_of("shard", at::zeros({2}, at::TensorOptions(device.place())))};
  EXPECT_THROW(Snapshot().take(shards), base::InternalError);
}

TEST(Snapshot, OfNothing) { EXPECT_TRUE(Snapshot().take({}).empty()); }

}  // namespace
}  // namespace paceline::checkpoint
