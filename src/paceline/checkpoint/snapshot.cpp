#include "paceline/checkpoint/snapshot.h"

#include "paceline/base/error.h"
#include "paceline/base/huge_pages.h"
#include "paceline/checkpoint/bulk_copy.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace paceline::checkpoint {
namespace {

using tensor::StateShard;

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPageBytes = 4096;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::size_t Snapshot::size_bytes(std::span<const StateShard> shards) {
  std::size_t size = 0;
  for (const StateShard& shard : shards) {
    if (shard.is_writer) size += aligned(shard.data.nbytes());
  }
  return size;
}

void Snapshot::get_memory(std::span<const StateShard> shards, tensor::Device& device) {
  const std::size_t size = size_bytes(shards);
  if (memory_ && size_ >= size) return;
  memory_.reset();  // before there is other memory
  memory_ = device.allocate_host(size);
  size_ = size;
  if (!device.is_asynchronous()) base::ask_for_huge_pages(memory_.get(), size);
}

void Snapshot::reserve(std::span<const StateShard> shards, tensor::Device& device) {
  get_memory(shards, device);
  auto* bytes = static_cast<volatile char*>(memory_.get());
  for (std::size_t i = 0; i < size_; i += kPageBytes) bytes[i] = 0;
}

std::vector<StateShard> Snapshot::take(std::span<const StateShard> shards, tensor::Device& device) {
  const at::NoGradGuard no_grad;
  get_memory(shards, device);
  std::vector<StateShard> copies;
  std::copy_if(shards.begin(), shards.end(), std::back_inserter(copies),
               [](const StateShard& shard) { return shard.is_writer; });
  auto* place = static_cast<std::byte*>(memory_.get());
  BulkCopy copying;
  for (StateShard& shard : copies) {
    const at::Tensor original = shard.data.detach();
    PACELINE_CHECK(original.is_cpu() || device.is_asynchronous(), "'{}' lies on another device",
                   shard.name);
    const std::size_t bytes = original.nbytes();
    const auto options = at::TensorOptions(original.scalar_type());
    if (original.is_non_overlapping_and_dense()) {
      shard.data = at::from_blob(place, original.sizes(), original.strides(), options);
    } else {
      shard.data = at::from_blob(place, original.sizes(), options);
    }
    if (original.is_cpu() && original.is_non_overlapping_and_dense()) {
      copying.add(place, original.const_data_ptr(), bytes);
    } else {
      shard.data.copy_(original, /*non_blocking=*/true);
    }
    place += aligned(bytes);
  }
  copying.run();
  if (device.is_asynchronous()) device.synchronize();
  return copies;
}

}  // namespace paceline::checkpoint
