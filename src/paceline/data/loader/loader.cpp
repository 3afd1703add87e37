#include "paceline/data/loader/loader.h"

#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/data/loader/buffer_pool.h"
#include "paceline/data/loader/sample_order.h"
#include "paceline/data/loader/sample_reader.h"
#include "paceline/data/loader/work_slots.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {
namespace {

/// A batch in work. The loader's mutex guards it, except for the batch's memory and indices: there
/// each sample's place belongs to the thread that claimed it.
struct BatchInWork {
  BatchInWork(const BatchSlice& its_slice, const SampleMaker& its_maker)
      : slice(its_slice), maker(its_maker) {}

  bool is_done() const { return num_claimed == slice.count && num_running == 0; }

  const BatchSlice slice;
  const SampleMaker& maker;
  std::unique_ptr<HostBatch> batch;
  std::int64_t num_claimed = 0;  ///< samples given to threads, in order
  int num_running = 0;           ///< threads at work on this batch
  std::exception_ptr error;      ///< of the first bad sample
  std::int64_t error_at = 0;     ///< its place in the batch
  std::vector<std::pair<std::int64_t, std::string>> skipped;  ///< place in the batch, message
  std::atomic<bool> abandoned = false;                        ///< nobody waits for it any more
};

/// Consecutive samples of a batch, for one thread.
struct Claim {
  std::shared_ptr<BatchInWork> work;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

void check_options(const LoaderOptions& options) {
  if (options.num_threads < 1)
    throw base::ConfigError(
        fmt::format("data.num_threads is {}, expected at least 1", options.num_threads));
  if (options.prefetch_batches < 1) {
    throw base::ConfigError(
        fmt::format("data.prefetch_batches is {}, expected at least 1", options.prefetch_batches));
  }
}

class ThreadedLoader final : public DataLoader {
 public:
  ThreadedLoader(const Dataset& dataset, std::shared_ptr<const SampleMaker> maker,
                 const LoaderOptions& options);
  ~ThreadedLoader() override;

  std::int64_t batches_per_epoch() const override { return plan_.batches_per_epoch(); }
  std::int64_t global_count_of(std::int64_t position) const override {
    return plan_.global_count_of(position);
  }
  std::int64_t position() const override;
  void seek(std::int64_t position) override;
  void start() override;
  bool is_ready() const override;
  std::unique_ptr<HostBatch> next() override;
  LoaderCounts counts() const override;

 private:
  // These are called with mutex_ held.
  bool has_first() const { return !window_.empty() && window_.front()->is_done(); }
  bool may_open() const;
  void open_batch();
  void hint(std::int64_t opened);
  Claim claim_samples();
  void abandon_window();
  void count_skipped(BatchInWork& work);

  // These are called without.
  void run_thread(SlotLease* lease);
  void read_samples(const Claim& claim, SlotLease* lease, ReaderScratch& scratch);
  SamplePlace place_of(const BatchInWork& work, std::int64_t i) const {
    return {static_cast<std::uint64_t>(work.slice.epoch), work.slice.first + i};
  }
  void read_sample(BatchInWork& work, std::int64_t i, ReaderScratch& scratch);
  std::unique_ptr<HostBatch> make_batch(const BatchInWork& work) const;
  const SampleMaker& maker_of(std::int64_t position) const;

  const std::shared_ptr<const SampleMaker> first_maker_;
  const LoaderOptions options_;
  const SampleReader reader_;
  const BatchPlan plan_;
  const std::size_t batch_bytes_;  ///< of the largest batch
  const std::int64_t max_ahead_;   ///< batches of the window
  const std::shared_ptr<BufferPool> buffers_;
  const std::int64_t end_position_;  ///< of evaluation

  mutable std::mutex mutex_;
  std::condition_variable work_available_;
  std::condition_variable batch_done_;
  std::deque<std::shared_ptr<BatchInWork>> window_;  ///< batches from position_ on
  std::int64_t position_ = 0;
  std::int64_t hinted_ = 0;  ///< batches before this one the data set was told of
  bool failed_ = false;      ///< a batch of the window holds an error: read no further
  bool stopping_ = false;
  LoaderCounts counts_;
  std::vector<std::thread> threads_;
};

/// Room for a batch of the largest samples.
std::size_t room_for_batch(std::int64_t count, const SampleMaker& maker,
                           const LoaderOptions& options) {
  std::size_t largest = batch_bytes(maker.fields(), count);
  for (const MakerChange& change : options.maker_changes)
    largest = std::max(largest, batch_bytes(change.maker->fields(), count));
  return largest;
}

/// Of tiny batches more are read ahead than asked for, up to 32 samples and 4 MiB.
std::int64_t tiny_batches_ahead(std::int64_t count, std::size_t bytes) {
  return std::min(32 / std::max<std::int64_t>(1, count),
                  (std::int64_t{4} << 20) / (static_cast<std::int64_t>(bytes) + 1));
}

ThreadedLoader::ThreadedLoader(const Dataset& dataset, std::shared_ptr<const SampleMaker> maker,
                               const LoaderOptions& options)
    : first_maker_(std::move(maker)),
      options_(options),
      reader_(dataset, options),
      plan_(reader_.places_per_epoch(), options.global_batch_size,
            options.is_training && options.drop_last, options.rank, options.world_size),
      batch_bytes_(room_for_batch(plan_.max_count(), *first_maker_, options)),
      max_ahead_(std::max<std::int64_t>(options.prefetch_batches,
                                        tiny_batches_ahead(plan_.max_count(), batch_bytes_))),
      buffers_(BufferPool::make(options.allocator, batch_bytes_)),
      end_position_(options.is_training ? std::numeric_limits<std::int64_t>::max()
                                        : plan_.batches_per_epoch()) {}

ThreadedLoader::~ThreadedLoader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    abandon_window();
  }
  work_available_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::int64_t ThreadedLoader::position() const {
  const std::lock_guard lock(mutex_);
  return position_;
}

LoaderCounts ThreadedLoader::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void ThreadedLoader::seek(std::int64_t position) {
  PACELINE_CHECK(position >= 0 && position <= end_position_, "seek to batch {} of {}", position,
                 end_position_);
  {
    const std::lock_guard lock(mutex_);
    if (position == position_ && !failed_) return;
    abandon_window();
    position_ = position;
    failed_ = false;
  }
  work_available_.notify_all();
}

void ThreadedLoader::start() {
  // Only the thread that calls next() comes here, so threads_ needs no lock.
  while (threads_.size() < static_cast<std::size_t>(options_.num_threads)) {
    const int number = options_.rank * options_.num_threads + static_cast<int>(threads_.size());
    auto lease = options_.slots ? std::make_unique<SlotLease>(*options_.slots, number) : nullptr;
    threads_.emplace_back([this, lease = std::move(lease)] { run_thread(lease.get()); });
  }
}

bool ThreadedLoader::is_ready() const {
  const std::lock_guard lock(mutex_);
  return position_ == end_position_ || (has_first() && !window_.front()->error);
}

std::unique_ptr<HostBatch> ThreadedLoader::next() {
  start();
  std::shared_ptr<BatchInWork> work;
  {
    std::unique_lock lock(mutex_);
    if (position_ == end_position_) return nullptr;
    if (!has_first()) {
      const double begin = base::SystemClock().monotonic_s();
      batch_done_.wait(lock, [this] { return has_first(); });
      counts_.wait_seconds += base::SystemClock().monotonic_s() - begin;
    }
    if (window_.front()->error) std::rethrow_exception(window_.front()->error);
    work = std::move(window_.front());
    window_.pop_front();
    ++position_;
    count_skipped(*work);
    // Waking a thread costs as much as a tiny model's step: long windows are refilled by halves.
    const std::int64_t missing = max_ahead_ - std::ssize(window_);
    if (max_ahead_ == options_.prefetch_batches || 2 * missing >= max_ahead_)
      work_available_.notify_all();
  }
  if (!options_.is_training && !work->skipped.empty()) {
    std::vector<std::int64_t> places;
    for (const auto& [place, message] : work->skipped) places.push_back(place);
    remove_samples(*work->batch, places);
  }
  for (auto& skipped : work->skipped) work->batch->skipped.push_back(std::move(skipped.second));
  return std::move(work->batch);
}

void ThreadedLoader::count_skipped(BatchInWork& work) {
  if (work.skipped.empty()) return;
  std::sort(work.skipped.begin(), work.skipped.end());
  counts_.skipped_samples += static_cast<std::int64_t>(work.skipped.size());
  counts_.last_skipped = work.skipped.back().second;
}

void ThreadedLoader::abandon_window() {
  for (const auto& work : window_) work->abandoned = true;
  window_.clear();
  reader_.will_read_no_more();
  hinted_ = 0;
}

bool ThreadedLoader::may_open() const {
  const auto ahead = static_cast<std::int64_t>(window_.size());
  return !failed_ && ahead < max_ahead_ && position_ + ahead < end_position_;
}

const SampleMaker& ThreadedLoader::maker_of(std::int64_t position) const {
  const SampleMaker* maker = first_maker_.get();
  for (const MakerChange& change : options_.maker_changes) {
    if (position >= change.first_batch) maker = change.maker.get();
  }
  return *maker;
}

void ThreadedLoader::open_batch() {
  const std::int64_t position = position_ + static_cast<std::int64_t>(window_.size());
  auto work = std::make_shared<BatchInWork>(plan_.slice(position), maker_of(position));
  try {
    hint(position);
    work->batch = make_batch(*work);
  } catch (...) {  // out of memory, or a damaged index; next() throws it
    work->error = std::current_exception();
    work->num_claimed = work->slice.count;
    failed_ = true;
  }
  window_.push_back(std::move(work));
  if (window_.back()->is_done()) batch_done_.notify_one();  // no sample of this rank, or no memory
}

/// Beyond the batches in work, so that small ones keep far machines busy too.
void ThreadedLoader::hint(std::int64_t opened) {
  constexpr std::int64_t kSamplesAhead = 512;
  if (!reader_.reads_ahead()) return;
  const std::int64_t ahead = 1 + kSamplesAhead / std::max<std::int64_t>(1, plan_.max_count());
  const std::int64_t end = std::min(opened + 1 + ahead, end_position_);
  for (hinted_ = std::max(hinted_, opened); hinted_ < end; ++hinted_) {
    const BatchSlice slice = plan_.slice(hinted_);
    reader_.will_read({static_cast<std::uint64_t>(slice.epoch), slice.first}, slice.count);
  }
}

std::unique_ptr<HostBatch> ThreadedLoader::make_batch(const BatchInWork& work) const {
  const BatchSlice& slice = work.slice;
  const auto count = static_cast<std::size_t>(slice.count);
  auto batch = std::make_unique<HostBatch>();
  batch->fields = lay_out(work.maker.fields(), slice.count, buffers_->take());
  batch->indices.resize(count);
  batch->count = slice.count;
  batch->global_count = slice.global_count;
  batch->first_position = slice.first;
  batch->byte_pixels = work.maker.byte_pixels();
  if (batch->byte_pixels && batch->byte_pixels->erases) batch->erased.resize(count);
  return batch;
}

Claim ThreadedLoader::claim_samples() {
  for (const auto& work : window_) {
    const std::int64_t left = work->slice.count - work->num_claimed;
    if (left == 0) continue;
    // Few samples at a time, so that threads finish a batch together; some, so that small images do
    // not make them queue for the mutex.
    const std::int64_t some = std::clamp<std::int64_t>(
        work->slice.count / (std::int64_t{4} * options_.num_threads), 1, 16);
    const std::int64_t begin = work->num_claimed;
    work->num_claimed += std::min(some, left);
    ++work->num_running;
    return {work, begin, work->num_claimed};
  }
  return {};
}

void ThreadedLoader::run_thread(SlotLease* lease) {
  sigset_t all_signals;
  sigfillset(&all_signals);
  pthread_sigmask(SIG_BLOCK, &all_signals, nullptr);  // signals are the main thread's
  ReaderScratch scratch;
  scratch.lease = lease;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const Claim claim = claim_samples();
    if (claim.work) {
      lock.unlock();
      read_samples(claim, lease, scratch);
      lock.lock();
      counts_.stages += std::exchange(scratch.times, {});
      --claim.work->num_running;
      if (claim.work->is_done()) batch_done_.notify_one();
    } else if (may_open()) {
      open_batch();
      work_available_.notify_all();
    } else {
      work_available_.wait(lock);
    }
  }
}

void ThreadedLoader::read_samples(const Claim& claim, SlotLease* lease, ReaderScratch& scratch) {
  BatchInWork& work = *claim.work;
  std::int64_t i = claim.begin;
  try {
    const SlotLease::Hold hold(lease);
    scratch.idle_since_s = ReaderScratch::kUnknown;
    const std::span<std::int64_t> indices(&work.batch->indices[static_cast<std::size_t>(i)],
                                          static_cast<std::size_t>(claim.end - i));
    reader_.fill_indices(place_of(work, i), indices);
    for (; i < claim.end && !work.abandoned; ++i) {
      reader_.expect(indices.subspan(static_cast<std::size_t>(i + 1 - claim.begin)), scratch);
      read_sample(work, i, scratch);
    }
  } catch (...) {
    // All samples before this one are claimed, so the first error of the batch is found whatever
    // thread is faster.
    const std::lock_guard lock(mutex_);
    if (!work.error || i < work.error_at) {
      work.error = std::current_exception();
      work.error_at = i;
    }
    work.num_claimed = work.slice.count;
    if (!work.abandoned) failed_ = true;
  }
}

void ThreadedLoader::read_sample(BatchInWork& work, std::int64_t i, ReaderScratch& scratch) {
  HostBatch& batch = *work.batch;
  const auto which = static_cast<std::size_t>(i);
  scratch.targets.clear();
  for (const HostField& field : batch.fields) scratch.targets.push_back(field.sample(i));
  ReadSample read = reader_.read(batch.indices[which], place_of(work, i), work.maker, scratch);
  batch.indices[which] = read.index;
  if (!batch.erased.empty()) batch.erased[which] = std::move(read.erased);
  if (read.skipped.empty()) return;
  const std::lock_guard lock(mutex_);
  for (const std::string& message : read.skipped) work.skipped.emplace_back(i, message);
}

}  // namespace

std::unique_ptr<DataLoader> make_data_loader(const Dataset& dataset,
                                             std::shared_ptr<const SampleMaker> maker,
                                             const LoaderOptions& options) {
  check_options(options);
  return std::make_unique<ThreadedLoader>(dataset, std::move(maker), options);
}

}  // namespace paceline::data
