#include "paceline/data/loader/sample_order.h"

#include "paceline/base/error.h"
#include "paceline/base/philox_lanes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

/// Adds to each row what Philox draws from its column, or the other way round.
template <std::size_t kLanes>
void SampleOrder::shift(std::uint32_t round, const Cells<kLanes>& from, std::uint64_t bound,
                        Cells<kLanes>& to) const {
  base::PhiloxLanes<kLanes> draws;
  base::Philox::Counter counter;
  for (std::size_t i = 0; i < kLanes; ++i) {
    counter = base::Philox(seed_, base::DrawPurpose::kSampleOrder, epoch_, from[i]).counter(round);
    for (std::size_t word = 0; word < 4; ++word) draws.word[word][i] = counter.words[word];
  }
  base::generate(draws, counter.key0, counter.key1);  // the key is the seed's, so all lanes'
  for (std::size_t i = 0; i < kLanes; ++i) {
    to[i] += ((std::uint64_t{draws.word[0][i]} << 32) | draws.word[1][i]) % bound;
    if (to[i] >= bound) to[i] -= bound;
  }
}

template <std::size_t kLanes>
void SampleOrder::permute(Cells<kLanes>& cells) const {
  Cells<kLanes> rows;
  Cells<kLanes> columns;
  for (std::size_t i = 0; i < kLanes; ++i) {
    rows[i] = cells[i] / columns_;
    columns[i] = cells[i] % columns_;
  }
  for (std::uint32_t round = 0; round < kRounds; round += 2) {
    shift(round, columns, rows_, rows);
    shift(round + 1, rows, columns_, columns);
  }
  for (std::size_t i = 0; i < kLanes; ++i) cells[i] = rows[i] * columns_ + columns[i];
}

template <std::size_t kLanes>
void SampleOrder::fill_lanes(std::int64_t first, std::span<std::int64_t> samples) const {
  Cells<kLanes> cells;
  cells.fill(static_cast<std::uint64_t>(first));  // of lanes beyond the samples
  std::iota(cells.begin(), cells.begin() + std::ssize(samples), static_cast<std::uint64_t>(first));
  permute(cells);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Cells<1> walker = {cells[i]};
    while (walker[0] >= size_) permute(walker);
    samples[i] = static_cast<std::int64_t>(walker[0]);
  }
}

std::int64_t SampleOrder::at(std::int64_t position) const {
  std::int64_t sample = 0;
  fill(position, {&sample, 1});
  return sample;
}

void SampleOrder::fill(std::int64_t first, std::span<std::int64_t> samples) const {
  constexpr std::size_t kLanes = 16;
  PACELINE_CHECK(first >= 0 && static_cast<std::uint64_t>(first) + samples.size() <= size_,
                 "{} places from {} on of an order of {}", samples.size(), first, size_);
  if (samples.size() == 1) return fill_lanes<1>(first, samples);
  while (!samples.empty()) {
    const std::size_t count = std::min(kLanes, samples.size());
    fill_lanes<kLanes>(first, samples.first(count));
    first += static_cast<std::int64_t>(count);
    samples = samples.subspan(count);
  }
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
