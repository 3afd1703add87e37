#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/loader/host_batch.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace paceline::data {

class Sampler;      // data/loader/sampler.h
class SampleMaker;  // data/loader/sample_maker.h
class WorkSlots;    // data/loader/work_slots.h

/// Gives `size_bytes` of memory aligned to 64 bytes; frees it with the last reference.
using HostAllocator = std::function<std::shared_ptr<void>(std::size_t size_bytes)>;

/// What to do with a sample that cannot be read or decoded.
///
/// kFail: next() throws, naming the file. kSkip in training: another sample, drawn by (seed, epoch,
/// place in the order) alone, takes its place, so that batches keep their size and do not depend on
/// ranks or threads; after eight bad ones in a row next() throws. kSkip in evaluation: the sample
/// is left out, so that HostBatch::count (not global_count) is smaller by one and sums over all
/// ranks stay exact. Skipped samples are counted and named in LoaderCounts.
enum class OnError { kFail, kSkip };

/// What makes the training batches from number `first_batch` on, counted over all epochs.
struct MakerChange {
  std::int64_t first_batch = 0;
  std::shared_ptr<const SampleMaker> maker;
};

struct LoaderOptions {
  std::uint64_t seed = 0;
  bool is_training = true;  ///< shuffled, without end; else one pass in file order
  std::shared_ptr<const Sampler> sampler = {};  ///< of training; empty: ShuffleConfig's
  std::int64_t global_batch_size = 0;
  bool drop_last = false;  ///< of training; evaluation never drops
  int rank = 0;
  int world_size = 1;
  int num_threads = 1;
  std::shared_ptr<const WorkSlots> slots = {};  ///< of all loaders of the node; empty: unlimited
  int prefetch_batches = 2;  ///< ready or in work ahead of the consumer; more if they are tiny
  /// In ascending order; fields may change their sizes, as progressive resizing wants.
  std::vector<MakerChange> maker_changes = {};
  OnError on_error = OnError::kFail;
  HostAllocator allocator = {};  ///< empty: aligned heap memory
};

/// Time of threads, summed over them, by what they did with samples.
struct StageTimes {
  double read_s = 0;       ///< took the sample's bytes from where they are stored
  double decode_s = 0;     ///< made pixels of them
  double transform_s = 0;  ///< all the rest, up to the batch
  std::int64_t samples = 0;

  double total_s() const { return read_s + decode_s + transform_s; }
  StageTimes& operator+=(const StageTimes& other) {
    read_s += other.read_s;
    decode_s += other.decode_s;
    transform_s += other.transform_s;
    samples += other.samples;
    return *this;
  }
  friend StageTimes operator-(const StageTimes& after, const StageTimes& before) {
    return {after.read_s - before.read_s, after.decode_s - before.decode_s,
            after.transform_s - before.transform_s, after.samples - before.samples};
  }
};

/// What the loader has met since it was made.
struct LoaderCounts {
  std::int64_t skipped_samples = 0;  ///< in the batches handed out; of this rank
  std::string last_skipped;          ///< its file and what is wrong with it
  double wait_seconds = 0;           ///< that next() waited for data
  StageTimes stages;                 ///< of samples read ahead, too
};

/// Batches of one rank, in an order that is a function of (seed, epoch, position) alone, as the
/// sampler draws it: the number of ranks, of threads and what was read before do not enter. Its
/// position is one integer.
class DataLoader {
 public:
  virtual ~DataLoader() = default;
  virtual std::int64_t batches_per_epoch() const = 0;
  /// The number of the next batch, counted over all epochs from 0.
  virtual std::int64_t position() const = 0;
  /// Continues with this batch; O(1). Evaluation loaders have positions up to batches_per_epoch().
  virtual void seek(std::int64_t position) = 0;
  /// Starts the threads and begins to read ahead; returns at once. The first next() does it
  /// otherwise.
  virtual void start() = 0;
  /// Whether next() has its batch at hand: it will neither wait nor throw.
  virtual bool is_ready() const = 0;
  /// The next batch; blocks until it is ready. Training loaders run on into the next epoch;
  /// evaluation loaders return nullptr at the end of the data. The batch's memory goes back to the
  /// loader with the last reference to it and may outlive the loader. Throws DataError, and
  /// Interrupted where a read had to wait when the program was asked to stop, in the order of the
  /// batches, and again until seek() is called.
  virtual std::unique_ptr<HostBatch> next() = 0;
  virtual LoaderCounts counts() const = 0;
  /// Samples of all ranks in global batch `position`.
  virtual std::int64_t global_count_of(std::int64_t position) const = 0;
};

/// The loader of this process: one pool of threads, which share each batch by samples. next() and
/// seek() are for one thread at a time. The data set must outlive it. Throws ConfigError for
/// options that make no sense.
std::unique_ptr<DataLoader> make_data_loader(const Dataset& dataset,
                                             std::shared_ptr<const SampleMaker> maker,
                                             const LoaderOptions& options);

}  // namespace paceline::data
