#pragma once

#include "paceline/comm/flight_recorder.h"

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include <c10/util/intrusive_ptr.h>

namespace c10d {
class Store;
}

namespace paceline::comm {

/// Finds out, when a collective fails, what the other ranks are at. Each rank has a thread that
/// sleeps on one key of the store; the first rank that fails wakes all of them, and those that live
/// publish their recorder's history. It collects them and publishes the roll call, which the others
/// that fail wait for. No traffic while all goes well, and no polling ever: what a rank asks of the
/// store does not grow with the number of ranks, but for the first one's search for those that are
/// silent, some 2 log2(world_size) operations for each.
class PeerWatch {
 public:
  /// Opens one more connection to the store, for the sleeping thread. That calls `on_alarm`, which
  /// must own what it uses, when it is woken or finds the store gone.
  PeerWatch(
      c10::intrusive_ptr<c10d::Store> store, int rank, int world_size,
      std::shared_ptr<const FlightRecorder> recorder, std::function<void()> on_alarm = [] {});
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// Fills in the histories: waits for the other ranks' until all have come or `grace` has passed.
  /// Never throws: a store that is gone is part of the answer.
  void ask_all(CollectiveFailure& failure, std::chrono::milliseconds grace) const;

  /// Wakes the ranks, unless another one has, for what they have of this one to end. Never throws.
  void wake_all() const;

  /// For a rank that has waited long: leaves word of what it is at, and returns whether one of the
  /// next ranks, which waits as well, is at other collectives, so that neither wait will end. Never
  /// throws: a store that is gone has no answer.
  bool waits_in_vain() const;

  /// Called by every rank after a barrier: returns when nobody will use the store any more, as far
  /// as this rank must wait for it (rank 0 serves it, so it leaves last).
  void leave(std::chrono::milliseconds timeout);

 private:
  void stop();

  c10::intrusive_ptr<c10d::Store> store_;
  int rank_;
  int world_size_;
  std::shared_ptr<const FlightRecorder> recorder_;
  std::thread listener_;
};

}  // namespace paceline::comm
