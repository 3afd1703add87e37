#include "paceline/data/sample_order.h"

#include "paceline/base/error.h"
#include "paceline/base/philox.h"

#include <algorithm>
#include <cmath>

namespace paceline::data {
namespace {

// Four rounds are proven enough for large grids; twice as many keep small ones well mixed too.
constexpr std::uint32_t kRounds = 8;

}  // namespace

SampleOrder::SampleOrder(std::uint64_t seed, std::uint64_t epoch, std::int64_t size)
    : seed_(seed), epoch_(epoch), size_(static_cast<std::uint64_t>(size)) {
  PACELINE_CHECK(size > 0 && size <= (std::int64_t{1} << 62), "an order of {} samples", size);
  // A nearly square grid that holds at most rows_ - 1 cells too many, so that walks are rare.
  rows_ = static_cast<std::uint64_t>(std::ceil(std::sqrt(static_cast<double>(size))));
  columns_ = (size_ + rows_ - 1) / rows_;
}

std::uint64_t SampleOrder::permute_cell(std::uint64_t cell) const {
  std::uint64_t row = cell / columns_;
  std::uint64_t column = cell % columns_;
  for (std::uint32_t round = 0; round < kRounds; round += 2) {
    const auto draw = [&](std::uint32_t which, std::uint64_t half, std::uint64_t bound) {
      const base::Philox draws(seed_, base::DrawPurpose::kSampleOrder, epoch_, half);
      const base::Philox::Block words = draws.block(which);
      return ((std::uint64_t{words[0]} << 32) | words[1]) % bound;
    };
    row += draw(round, column, rows_);
    if (row >= rows_) row -= rows_;
    column += draw(round + 1, row, columns_);
    if (column >= columns_) column -= columns_;
  }
  return row * columns_ + column;
}

std::int64_t SampleOrder::at(std::int64_t position) const {
  PACELINE_CHECK(position >= 0 && static_cast<std::uint64_t>(position) < size_,
                 "place {} of an order of {}", position, size_);
  std::uint64_t cell = permute_cell(static_cast<std::uint64_t>(position));
  while (cell >= size_) cell = permute_cell(cell);
  return static_cast<std::int64_t>(cell);
}

std::int64_t SampleOrder::replacement(std::int64_t position, int attempt) const {
  // Blocks from kRounds on are not used by the network.
  const base::Philox draws(seed_, base::DrawPurpose::kSampleOrder, epoch_,
                           static_cast<std::uint64_t>(position));
  const base::Philox::Block words = draws.block(kRounds + static_cast<std::uint32_t>(attempt));
  return static_cast<std::int64_t>(((std::uint64_t{words[0]} << 32) | words[1]) % size_);
}

BatchPlan::BatchPlan(std::int64_t num_samples, std::int64_t global_batch_size, bool drop_last,
                     int rank, int world_size)
    : num_samples_(num_samples),
      global_batch_size_(global_batch_size),
      rank_(rank),
      world_size_(world_size) {
  if (num_samples < 1) throw base::DataError("the data set holds no samples");
  if (global_batch_size < 1) {
    throw base::ConfigError(
        fmt::format("data.global_batch_size is {}, expected at least 1", global_batch_size));
  }
  if (world_size < 1 || rank < 0 || rank >= world_size) {
    throw base::ConfigError(fmt::format("rank {} of {} ranks does not exist", rank, world_size));
  }
  batches_per_epoch_ = num_samples / global_batch_size;
  if (!drop_last && num_samples % global_batch_size != 0) ++batches_per_epoch_;
  if (batches_per_epoch_ == 0) {
    throw base::ConfigError(fmt::format(
        "data.drop_last leaves no batch: {} samples are fewer than global_batch_size {}; make the "
        "batch smaller or set data.drop_last to false",
        num_samples, global_batch_size));
  }
}

std::int64_t BatchPlan::global_count_of(std::int64_t position) const {
  const std::int64_t first = position % batches_per_epoch_ * global_batch_size_;
  return std::min(global_batch_size_, num_samples_ - first);
}

BatchSlice BatchPlan::slice(std::int64_t position) const {
  PACELINE_CHECK(position >= 0, "position {}", position);
  const std::int64_t global_count = global_count_of(position);
  const std::int64_t share = global_count / world_size_;
  const std::int64_t rest = global_count % world_size_;
  const std::int64_t before = rank_ * share + std::min(rank_, rest);
  return {position / batches_per_epoch_,
          position % batches_per_epoch_ * global_batch_size_ + before,
          share + (rank_ < rest ? 1 : 0), global_count};
}

std::int64_t BatchPlan::max_count() const { return slice(0).count; }

}  // namespace paceline::data
