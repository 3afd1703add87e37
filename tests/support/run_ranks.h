#pragma once

#include "paceline/comm/local/local_group.h"
#include "paceline/tensor/aten.h"
#include "support/collective_ledger.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::test {

namespace internal {

/// Collects how the ranks' threads end.
class RankOutcomes {
 public:
  /// To be called in a catch block. The first failure stays.
  void record_failure() {
    const std::lock_guard lock(mutex_);
    if (first_failure_ == nullptr) {
      first_failure_ = std::current_exception();
    }
  }
  void record_end() {
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  bool all_end_within(int world_size, std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return ended_ == world_size; });
  }
  std::exception_ptr first_failure() {
    const std::lock_guard lock(mutex_);
    return first_failure_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int ended_ = 0;
  std::exception_ptr first_failure_;
};

}  // namespace internal

/// Whether the ranks of a test must ask for the same collectives in the same order.
enum class CollectiveOrder { kMustBeEqual, kMayDiffer };

/// Runs `body` on `world_size` threads, each a rank of one LocalGroup with one intra-op thread, and
/// rethrows the first failure. When one rank fails, the others' collectives throw CommError; after
/// `timeout` those of all ranks do, so that a failing test ends. A rank that is still busy outside
/// collectives ten seconds later cannot be stopped: the process ends with a message. The order of
/// the ranks' collectives is compared at the end, whether they failed or not.
inline void run_ranks(int world_size, const std::function<void(comm::Communicator&)>& body,
                      std::chrono::milliseconds timeout = std::chrono::seconds(60),
                      CollectiveOrder order = CollectiveOrder::kMustBeEqual) {
  const comm::LocalGroup group(world_size);
  CollectiveLedger ledger;
  internal::RankOutcomes outcomes;
  std::vector<std::thread> threads;
  const int intra_op_threads = at::get_num_threads();
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        at::set_num_threads(1);
        LedgerCommunicator communicator(group.join(rank), ledger);
        communicator.set_timeout(timeout);
        body(communicator);
      } catch (const std::exception& error) {
        outcomes.record_failure();
        group.abort("rank " + std::to_string(rank) + " failed: " + error.what());
      } catch (...) {
        outcomes.record_failure();
        group.abort("rank " + std::to_string(rank) + " failed");
      }
      outcomes.record_end();
    });
  }
  if (!outcomes.all_end_within(world_size, timeout)) {
    group.abort("run_ranks: time-out after " + std::to_string(timeout.count()) + " ms");
    if (!outcomes.all_end_within(world_size, std::chrono::seconds(10))) {
      std::fputs("run_ranks: a rank hangs outside collectives; ending the process\n", stderr);
      std::_Exit(EXIT_FAILURE);
    }
  }
  std::for_each(threads.begin(), threads.end(), [](std::thread& thread) { thread.join(); });
  at::set_num_threads(intra_op_threads);
  const auto failure = outcomes.first_failure();
  if (order == CollectiveOrder::kMustBeEqual) {
    const auto difference = ledger.first_difference(world_size, failure == nullptr);
    EXPECT_FALSE(difference.has_value()) << "the ranks' collectives differ: " << *difference;
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace paceline::test
