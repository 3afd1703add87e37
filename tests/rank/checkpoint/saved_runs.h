#pragma once

#include "paceline/checkpoint/reader.h"
#include "paceline/checkpoint/writer.h"
#include "paceline/tensor/element_order.h"
#include "support/run_ranks.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::checkpoint {

/// How a rank of a test holds the model.
enum class Layout {
  kReplicated,           ///< every rank holds all, rank 0 writes
  kSharded,              ///< every rank holds and writes an equal part of each tensor
  kShardedChannelsLast,  ///< the same, counted in the memory order of channels-last
};

/// The model of a test, whole: float32 in two memory layouts, float64, an integer scalar.
inline std::vector<NamedTensor> whole_model(double offset) {
  const auto numbers = [&](std::int64_t count) { return at::arange(count, at::kDouble) + offset; };
  return {
      {"conv.weight", numbers(24).view({2, 3, 2, 2}).to(at::kFloat)},
      {"fc.weight", numbers(21).view({3, 7})},
      {"optimizer.momentum_buffer/fc.weight", (numbers(21) / 3).view({3, 7})},
      {"bn.num_batches_tracked", at::scalar_tensor(static_cast<std::int64_t>(offset), at::kLong)}};
}

/// The order in which a sharded layout counts a tensor's elements.
inline tensor::ElementOrder order_of(const at::Tensor& whole, Layout layout) {
  return layout == Layout::kShardedChannelsLast && whole.dim() == 4
             ? tensor::ElementOrder{0, 2, 3, 1}
             : tensor::ElementOrder{};
}

/// The shards of one rank. Replicated ones are channels-last where that applies.
inline std::vector<tensor::StateShard> shards_of(const std::vector<NamedTensor>& model,
                                                 Layout layout, int rank, int world_size) {
  std::vector<tensor::StateShard> shards;
  for (const NamedTensor& whole : model) {
    const std::int64_t numel = whole.tensor.numel();
    tensor::StateShard shard{.name = whole.name,
                             .data = whole.tensor.clone(),
                             .shape = whole.tensor.sizes().vec(),
                             .begin = 0,
                             .end = numel,
                             .is_writer = rank == 0};
    if (layout != Layout::kReplicated) {
      shard.begin = numel * rank / world_size;
      shard.end = numel * (rank + 1) / world_size;
      shard.order = order_of(whole.tensor, layout);
      shard.data = tensor::in_order(whole.tensor, shard.order)
                       .reshape(-1)
                       .slice(0, shard.begin, shard.end)
                       .clone();
      shard.is_writer = true;
    } else if (whole.tensor.dim() == 4) {
      shard.data = shard.data.contiguous(at::MemoryFormat::ChannelsLast);
    }
    shards.push_back(std::move(shard));
  }
  return shards;
}

/// Saves a model with some ranks; returns rank 0's path.
inline std::filesystem::path save_model(const std::filesystem::path& folder, std::int64_t step,
                                        const std::vector<NamedTensor>& model, double monitored,
                                        Layout layout, int world_size, base::FileSystem& files) {
  std::filesystem::path path;
  test::run_ranks(world_size, [&](comm::Communicator& communicator) {
    const auto shards = shards_of(model, layout, communicator.rank(), world_size);
    const SaveRequest request{
        .folder = folder,
        .step = step,
        .shards = shards,
        .state = {{"clock", {{"step", step}}}},
        .config = "run: {}\n",
        .monitored = Monitored{"val/top1", monitored},
        .environment = {.world_size = world_size},
        .class_names = {"cat", "dog"},
        .surgery = SurgeryRecord{{"blurpool", "{min_channels: 2}", {{"convolutions", {"conv"}}}}}};
    const auto saved = save_checkpoint(request, communicator, files);
    if (communicator.rank() == 0) path = saved;
  });
  return path;
}

/// Saves whole_model(offset).
inline std::filesystem::path save_model(const std::filesystem::path& folder, std::int64_t step,
                                        double offset, Layout layout, int world_size,
                                        base::FileSystem& files) {
  return save_model(folder, step, whole_model(offset), offset, layout, world_size, files);
}

/// Loads into zeroed shards with some ranks and expects the same bits of `model` on each of them.
inline void expect_loads(const std::filesystem::path& path, const std::vector<NamedTensor>& model,
                         Layout layout, int world_size) {
  test::run_ranks(world_size, [&](comm::Communicator& communicator) {
    const int rank = communicator.rank();
    const auto reader = open_checkpoint(path, communicator);
    const auto shards = shards_of(model, layout, rank, world_size);
    for (const auto& shard : shards) shard.data.zero_();
    load_checkpoint(*reader, shards, ExtraTensors::kRefuse, communicator);
    const auto expected = shards_of(model, layout, rank, world_size);
    for (std::size_t i = 0; i < shards.size(); ++i) {
      EXPECT_TRUE(shards[i].data.equal(expected[i].data)) << shards[i].name << " on rank " << rank;
      EXPECT_EQ(shards[i].data.strides(), expected[i].data.strides()) << shards[i].name;
    }
  });
}

inline void expect_loads(const std::filesystem::path& path, double offset, Layout layout,
                         int world_size) {
  expect_loads(path, whole_model(offset), layout, world_size);
}

}  // namespace paceline::checkpoint
