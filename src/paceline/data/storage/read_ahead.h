#pragma once

#include "paceline/base/clock.h"
#include "paceline/data/storage/input_file.h"
#include "paceline/data/storage/storage.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

namespace paceline::data {

/// Bytes that will be wanted, under a key of the caller's.
struct ReadAheadPart {
  std::int64_t key = 0;
  std::uint64_t file = 0;  ///< a number of the caller's
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool is_shared = false;      ///< taken once, however often it is expected until then
  bool is_whole_file = false;  ///< of a size that is not known; then offset and size are 0
};

struct ReadAheadOptions {
  int connections = 32;                             ///< reads under way at once
  std::size_t max_bytes = std::size_t{64} << 20;    ///< being fetched, or fetched and not taken
  std::uint64_t max_gap = std::uint64_t{64} << 10;  ///< neighbours as close are read together,
  std::uint64_t max_read = std::uint64_t{4} << 20;  ///< up to so many bytes
  bool waits_for_slow_reads = false;                ///< is off until note_read() has met some
};

/// Fetches bytes before they are asked for, by threads of its own that wait for disks and far
/// machines. Thread-safe.
class ReadAhead {
 public:
  /// Gives a file by its number; called by the threads that read.
  using Open = std::function<std::shared_ptr<const InputFile>(std::uint64_t file)>;

  ReadAhead(Open open, const ReadAheadOptions& options);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  /// Starts to fetch these, after all that were expected before. Each is kept until it is taken;
  /// one that is expected n times is fetched once and may be taken n times, if it is not shared.
  void expect(std::span<const ReadAheadPart> parts);

  /// Swaps the bytes of an expected part into `bytes`, waiting for them if need be; a part that is
  /// waited for is fetched next, whatever memory is left. False if none is expected under this key;
  /// while it is off, at once. Throws what fetching it threw.
  bool take(std::int64_t key, std::vector<std::uint8_t>& bytes);

  /// Whether hints are of use. Files of this machine mostly come from memory or a fast disk, in
  /// less time than a hint costs; those of a network disk do not, which only shows in their reads.
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  /// Tells how long a read took that nobody expected; many slow ones switch it on for good.
  void note_read(double seconds);

  /// Expects this part no more; does not wait.
  void drop(std::int64_t key);

  /// Expects nothing any more; drops what was fetched.
  void forget();

 private:
  struct Slot;
  struct Read;
  /// What a file of unknown size is taken for, as far as memory is concerned.
  static constexpr std::uint64_t kUsualFile = std::uint64_t{128} << 10;
  using Slots = std::vector<std::shared_ptr<Slot>>;
  using Reads = std::vector<std::shared_ptr<Read>>;

  void run_thread();
  bool may_start() const;
  void hurry(const Slot& slot);
  void abandon(Slot& slot);
  bool is_neighbour(const Read& read, const ReadAheadPart& part) const;
  Reads join_neighbours(Slots slots) const;
  void fetch(Read& read);
  void fetch_one_by_one(Read& read);
  void finish(Read& read);

  const Open open_;
  const ReadAheadOptions options_;
  std::atomic<bool> is_on_;
  std::atomic<int> slow_reads_ = 0;  ///< less those that were fast

  std::mutex mutex_;
  std::condition_variable work_available_;
  std::condition_variable read_done_;
  std::deque<std::shared_ptr<Read>> queue_;
  std::unordered_map<std::int64_t, std::shared_ptr<Slot>> expected_;
  std::size_t num_bytes_ = 0;                     ///< being fetched, or fetched and not taken
  std::vector<std::vector<std::uint8_t>> spare_;  ///< memory of parts that were taken
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

/// The read-ahead of a data set's files, which lie at `place`: off for those of this machine until
/// their reads are slow.
std::unique_ptr<ReadAhead> read_ahead_from(const Storage& storage,
                                           const std::filesystem::path& place,
                                           ReadAhead::Open open);

/// Tells a read-ahead how long the read in its scope took, which nobody expected.
class TimedRead {
 public:
  /// Nothing is timed where it is on already.
  explicit TimedRead(ReadAhead& ahead)
      : ahead_(ahead.is_on() ? nullptr : &ahead),
        start_s_(ahead_ != nullptr ? base::SystemClock().monotonic_s() : 0) {}
  ~TimedRead() {
    if (ahead_ != nullptr) ahead_->note_read(base::SystemClock().monotonic_s() - start_s_);
  }
  TimedRead(const TimedRead&) = delete;
  TimedRead& operator=(const TimedRead&) = delete;

 private:
  ReadAhead* ahead_;
  double start_s_;
};

}  // namespace paceline::data
