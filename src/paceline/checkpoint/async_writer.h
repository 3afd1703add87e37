#pragma once

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/checkpoint/snapshot.h"
#include "paceline/checkpoint/writer.h"
#include "paceline/comm/communicator.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace paceline::checkpoint {

/// Saves checkpoints while training goes on: the caller waits for a copy of its shards in host
/// memory, a thread of each rank does the rest. At most one save is in flight.
///
/// The threads never use the communicator. Each rank leaves rank-R.done in the temporary directory
/// when its file is on disk; rank 0's thread, when it has seen all of these, writes the manifest
/// and gives the directory its name. What went wrong reaches the other ranks when all of them call
/// throw_if_failed(), finish() or the next start(); earlier checkpoints stay usable.
class AsyncWriter {
 public:
  /// `files` must outlive the writer. `after_commit` is called by rank 0's thread with the path of
  /// every finished checkpoint; it must not throw.
  AsyncWriter(base::FileSystem& files,
              std::function<void(const std::filesystem::path& checkpoint)> after_commit);
  /// Waits for the save in flight, for another rank's part of it a few seconds at most.
  ~AsyncWriter();
  AsyncWriter(const AsyncWriter&) = delete;
  AsyncWriter& operator=(const AsyncWriter&) = delete;

  /// Gets the host memory for such shards in the background, so that the first save need not wait
  /// for it. To be called before the first save or not at all. `device` is that of the shards.
  void reserve(std::span<const tensor::StateShard> shards,
               tensor::Device& device = tensor::cpu_device());

  /// Waits for the former save, copies the shards and returns; they may change from here on. The
  /// former save's failure is thrown, as by finish(). Every rank must call it.
  void start(const SaveRequest& request, comm::Communicator& communicator,
             tensor::Device& device = tensor::cpu_device());
  /// Waits for the save in flight, if there is one. Every rank must call it; a failure on any of
  /// them throws the same CheckpointError on all, or DivergedError for a state that is not finite,
  /// and removes what was written.
  void finish(comm::Communicator& communicator);

  /// Whether this rank knows by now that the save in flight has failed.
  bool has_failed() const { return has_failed_; }
  /// Throws as finish() if the save is known to have failed on any rank; waits for nothing else.
  /// Every rank must call it.
  void throw_if_failed(comm::Communicator& communicator);

 private:
  void run(int rank);
  void write_own_part(int rank);
  void commit();
  std::string report_of(int rank);
  /// Ends the save in flight and throws, as fail_save() does.
  [[noreturn]] void fail(const base::Error& problem, comm::Communicator& communicator);
  /// From now on rank 0's thread waits for other ranks until `deadline` and no longer.
  void wait_until(std::chrono::steady_clock::time_point deadline);

  base::FileSystem& files_;
  std::function<void(const std::filesystem::path&)> after_commit_;
  Snapshot snapshot_;

  // Of the save in flight; its thread reads them.
  std::optional<SaveRequest> request_;
  std::vector<tensor::StateShard> shards_;
  std::vector<int> other_writers_;  ///< ranks beside 0 that have something to write
  std::string own_report_;
  std::promise<void> own_part_;
  std::future<void> own_part_done_;
  std::atomic<bool> has_failed_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point deadline_;  ///< of rank 0's waiting

  std::future<void> done_;  ///< of the thread; its destructor waits, so it is the last member
};

}  // namespace paceline::checkpoint
