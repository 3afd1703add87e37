#pragma once

#include "paceline/comm/flight_recorder.h"

#include <chrono>
#include <memory>
#include <thread>

#include <c10/util/intrusive_ptr.h>

namespace c10d {
class Store;
}

namespace paceline::comm {

/// Finds out, when a collective fails, what the other ranks are at. Each rank has a thread that
/// sleeps on one key of the store; the rank that fails wakes all of them, and those that live
/// publish their recorder's history. No traffic and no polling while all goes well.
class PeerWatch {
 public:
  /// Opens one more connection to the store, for the sleeping thread.
  PeerWatch(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size,
            std::shared_ptr<const FlightRecorder> recorder);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// Fills in the histories: waits for the other ranks' until all have come or `grace` has passed.
  /// Never throws: a store that is gone is part of the answer.
  void ask_all(CollectiveFailure& failure, std::chrono::milliseconds grace) const;

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
