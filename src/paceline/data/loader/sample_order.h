#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace paceline::data {

/// The order of an epoch's samples: a permutation of [0, size) that is a function of (seed, epoch)
/// alone, computed one place at a time without an array. It is a Feistel network over a grid of
/// rows x columns >= size cells whose round function is Philox; cells beyond `size` are walked
/// past. Papers: Luby and Rackoff, "How to construct pseudorandom permutations from pseudorandom
/// functions", SIAM J. Comput. 1988; Black and Rogaway, "Ciphers with arbitrary finite domains",
/// CT-RSA 2002.
class SampleOrder {
 public:
  /// Throws InternalError unless 0 < size <= 2^62.
  SampleOrder(std::uint64_t seed, std::uint64_t epoch, std::int64_t size);

  /// The sample at place `position` of the epoch, 0 <= position < size. O(1).
  std::int64_t at(std::int64_t position) const;

  /// The same for the places from `first` on, several side by side.
  void fill(std::int64_t first, std::span<std::int64_t> samples) const;

  /// A number below `size` in place of `position`, for when what stands there and attempt - 1
  /// others cannot be read; attempt >= 1. Drawn by (seed, epoch, position, attempt) alone.
  std::int64_t replacement(std::int64_t position, int attempt) const;

 private:
  /// Cells of the grid, or their rows or columns, to be worked on side by side.
  template <std::size_t kLanes>
  using Cells = std::array<std::uint64_t, kLanes>;

  template <std::size_t kLanes>
  void fill_lanes(std::int64_t first, std::span<std::int64_t> samples) const;
  template <std::size_t kLanes>
  void permute(Cells<kLanes>& cells) const;
  template <std::size_t kLanes>
  void shift(std::uint32_t round, const Cells<kLanes>& from, std::uint64_t bound,
             Cells<kLanes>& to) const;

  std::uint64_t seed_;
  std::uint64_t epoch_;
  std::uint64_t size_;
  std::uint64_t rows_;
  std::uint64_t columns_;
};

/// One rank's share of a global batch, in places of the epoch's order.
struct BatchSlice {
  std::int64_t epoch = 0;
  std::int64_t first = 0;         ///< the rank's first place
  std::int64_t count = 0;         ///< of this rank; may be 0 in a last, smaller batch
  std::int64_t global_count = 0;  ///< of all ranks
};

/// How the samples of an epoch fall into global batches, and these into contiguous slices of ranks.
/// Rank slices differ by at most one sample; the lower ranks have the larger ones. A position is
/// the number of a global batch, counted over all epochs from 0.
class BatchPlan {
 public:
  /// Throws ConfigError if a value makes no sense or no batch would be left, DataError if there is
  /// no sample.
  BatchPlan(std::int64_t num_samples, std::int64_t global_batch_size, bool drop_last, int rank,
            int world_size);

  std::int64_t batches_per_epoch() const { return batches_per_epoch_; }
  std::int64_t global_count_of(std::int64_t position) const;
  BatchSlice slice(std::int64_t position) const;
  /// The most samples that a slice of this rank has.
  std::int64_t max_count() const;

 private:
  std::int64_t num_samples_;
  std::int64_t global_batch_size_;
  std::int64_t rank_;
  std::int64_t world_size_;
  std::int64_t batches_per_epoch_ = 0;
};

}  // namespace paceline::data
