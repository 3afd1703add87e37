#include "paceline/data/storage/read_ahead.h"

#include "paceline/base/interruption.h"
#include "paceline/base/log.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace paceline::data {

/// A part and its bytes.
struct ReadAhead::Slot {
  ReadAheadPart part;
  std::size_t place = 0;     ///< in the hint
  std::weak_ptr<Read> read;  ///< that it is part of
  std::vector<std::uint8_t> bytes;
  std::exception_ptr error;
  bool is_done = false;
  int num_takers = 1;         ///< calls of take() to come
  int num_waiting = 0;        ///< calls of take() that wait
  bool is_forgotten = false;  ///< none will come, and its bytes are not counted
};

/// Neighbouring parts of a file.
struct ReadAhead::Read {
  std::vector<std::shared_ptr<Slot>> slots;                     ///< sorted by offset
  std::size_t place = std::numeric_limits<std::size_t>::max();  ///< first of the slots'
  std::uint64_t end = 0;                                        ///< of the slots'; they may overlap
  bool is_urgent = false;

  std::size_t num_bytes() const {
    return std::accumulate(slots.begin(), slots.end(), std::size_t{0},
                           [](std::size_t sum, const auto& slot) { return sum + slot->part.size; });
  }
};

ReadAhead::ReadAhead(Open open, const ReadAheadOptions& options)
    : open_(std::move(open)), options_(options), is_on_(!options.waits_for_slow_reads) {}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_available_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadAhead::note_read(double seconds) {
  constexpr double kSlowSeconds =
      1e-3;  // a hard disk's or a network's time, not memory's or an SSD's
  constexpr int kEnough = 16;
  if (is_on()) return;
  if (seconds < kSlowSeconds) {
    if (slow_reads_.load(std::memory_order_relaxed) > 0) --slow_reads_;
  } else if (++slow_reads_ >= kEnough && !is_on_.exchange(true)) {
    base::log_info("reads of the data take {:.1f} ms each: from now on they begin ahead of time",
                   1e3 * seconds);
  }
}

void ReadAhead::expect(std::span<const ReadAheadPart> parts) {
  const std::lock_guard lock(mutex_);
  Slots slots;
  for (const ReadAheadPart& part : parts) {
    std::shared_ptr<Slot>& slot = expected_[part.key];
    if (slot) {
      if (!part.is_shared) ++slot->num_takers;
      continue;
    }
    slot = std::make_shared<Slot>();
    slot->part = part;
    if (part.is_whole_file) slot->part.size = kUsualFile;
    slot->place = slots.size();
    slots.push_back(slot);
  }
  for (std::shared_ptr<Read>& read : join_neighbours(std::move(slots)))
    queue_.push_back(std::move(read));
  const std::size_t num_wanted =
      std::min(static_cast<std::size_t>(options_.connections), threads_.size() + queue_.size());
  while (threads_.size() < num_wanted) threads_.emplace_back([this] { run_thread(); });
  if (may_start()) work_available_.notify_one();
}

/// In the order of their first parts.
ReadAhead::Reads ReadAhead::join_neighbours(Slots slots) const {
  std::sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) {
    return std::tie(a->part.file, a->part.offset) < std::tie(b->part.file, b->part.offset);
  });
  Reads reads;
  for (std::shared_ptr<Slot>& slot : slots) {
    if (reads.empty() || !is_neighbour(*reads.back(), slot->part))
      reads.push_back(std::make_shared<Read>());
    slot->read = reads.back();
    reads.back()->place = std::min(reads.back()->place, slot->place);
    reads.back()->end = std::max(reads.back()->end, slot->part.offset + slot->part.size);
    reads.back()->slots.push_back(std::move(slot));
  }
  std::sort(reads.begin(), reads.end(),
            [](const auto& a, const auto& b) { return a->place < b->place; });
  return reads;
}

bool ReadAhead::is_neighbour(const Read& read, const ReadAheadPart& part) const {
  const ReadAheadPart& first = read.slots.front()->part;
  return part.file == first.file && part.offset <= read.end + options_.max_gap &&
         std::max(read.end, part.offset + part.size) - first.offset <= options_.max_read;
}

bool ReadAhead::take(std::int64_t key, std::vector<std::uint8_t>& bytes) {
  if (!is_on()) return false;
  std::unique_lock lock(mutex_);
  const auto found = expected_.find(key);
  if (found == expected_.end()) return false;
  const std::shared_ptr<Slot> slot = found->second;
  const bool is_last = --slot->num_takers == 0;
  if (is_last) expected_.erase(found);
  ++slot->num_waiting;
  if (!slot->is_done) {
    hurry(*slot);
    read_done_.wait(lock, [&] { return slot->is_done; });
  }
  --slot->num_waiting;
  if (is_last && !slot->is_forgotten) {
    num_bytes_ -= slot->part.size;
    if (may_start()) work_available_.notify_one();
  }
  if (slot->error) std::rethrow_exception(slot->error);
  if (!is_last || slot->num_waiting > 0) {
    bytes = slot->bytes;
    return true;
  }
  bytes.swap(slot->bytes);
  if (spare_.size() < static_cast<std::size_t>(options_.connections))
    spare_.push_back(std::move(slot->bytes));
  return true;
}

/// Has the read of a slot come next, if it waits in the queue.
void ReadAhead::hurry(const Slot& slot) {
  const auto queued = std::find(queue_.begin(), queue_.end(), slot.read.lock());
  if (queued == queue_.end()) return;
  (*queued)->is_urgent = true;
  std::rotate(queue_.begin(), queued, queued + 1);
  work_available_.notify_one();
}

void ReadAhead::drop(std::int64_t key) {
  if (!is_on()) return;
  const std::lock_guard lock(mutex_);
  const auto found = expected_.find(key);
  if (found == expected_.end()) return;
  abandon(*found->second);
  expected_.erase(found);
  if (may_start()) work_available_.notify_one();
}

/// Its bytes count no more, from now on or when they are there.
void ReadAhead::abandon(Slot& slot) {
  slot.is_forgotten = true;
  if (slot.is_done) num_bytes_ -= slot.part.size;
}

void ReadAhead::forget() {
  const std::lock_guard lock(mutex_);
  std::erase_if(queue_, [](const std::shared_ptr<Read>& read) {
    return std::none_of(read->slots.begin(), read->slots.end(),
                        [](const auto& slot) { return slot->num_waiting > 0; });
  });
  for (auto& [key, slot] : expected_) abandon(*slot);
  expected_.clear();
  if (may_start()) work_available_.notify_one();
}

bool ReadAhead::may_start() const {
  if (queue_.empty()) return false;
  const Read& next = *queue_.front();
  return next.is_urgent || num_bytes_ == 0 || num_bytes_ + next.num_bytes() <= options_.max_bytes;
}

void ReadAhead::run_thread() {
  sigset_t all_signals;
  sigfillset(&all_signals);
  pthread_sigmask(SIG_BLOCK, &all_signals, nullptr);  // signals are the main thread's
  std::unique_lock lock(mutex_);
  while (true) {
    work_available_.wait(lock, [this] { return stopping_ || may_start(); });
    if (stopping_) return;
    const std::shared_ptr<Read> read = std::move(queue_.front());
    queue_.pop_front();
    num_bytes_ += read->num_bytes();
    if (may_start()) work_available_.notify_one();
    for (const auto& slot : read->slots) {
      if (spare_.empty()) break;
      slot->bytes = std::move(spare_.back());
      spare_.pop_back();
    }
    lock.unlock();
    fetch(*read);
    lock.lock();
    finish(*read);
  }
}

/// Called without mutex_: nobody else touches the bytes and errors before the slots are done.
void ReadAhead::fetch(Read& read) {
  try {
    std::vector<FilePart> parts;
    const auto file = open_(read.slots.front()->part.file);
    for (const auto& slot : read.slots) {
      slot->bytes.resize(slot->part.is_whole_file ? file->size() : slot->part.size);
      parts.push_back({slot->part.offset, slot->bytes});
    }
    file->read_parts(parts);
  } catch (const base::Interrupted&) {
    for (const auto& slot : read.slots) slot->error = std::current_exception();
  } catch (...) {
    read.slots.front()->error = std::current_exception();
    if (read.slots.size() > 1) fetch_one_by_one(read);
  }
}

/// So that a part that cannot be read does not take its neighbours with it.
void ReadAhead::fetch_one_by_one(Read& read) {
  for (const auto& slot : read.slots) {
    slot->error = nullptr;
    try {
      open_(slot->part.file)->read(slot->part.offset, slot->bytes);
    } catch (...) {
      slot->error = std::current_exception();
    }
  }
}

void ReadAhead::finish(Read& read) {
  for (const auto& slot : read.slots) {
    slot->is_done = true;
    if (slot->is_forgotten) num_bytes_ -= slot->part.size;
  }
  read_done_.notify_all();
}

std::unique_ptr<ReadAhead> read_ahead_from(const Storage& storage,
                                           const std::filesystem::path& place,
                                           ReadAhead::Open open) {
  return std::make_unique<ReadAhead>(std::move(open),
                                     ReadAheadOptions{.connections = storage.num_connections(),
                                                      .waits_for_slow_reads = !is_remote(place)});
}

}  // namespace paceline::data
