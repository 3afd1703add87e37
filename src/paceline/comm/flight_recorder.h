#pragma once

#include "paceline/comm/collective.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::comm {

/// One collective as a rank saw it, in words.
struct CollectiveRecord {
  std::uint64_t sequence = 0;  ///< counts a communicator's collectives from 1
  std::string what;            ///< as to_text() gives it; equal on all ranks when they are in step
  std::string label;
  bool is_done = false;
};

/// A rank's last collectives, oldest first.
using CollectiveHistory = std::vector<CollectiveRecord>;

/// A ring of the last collectives of one communicator. Thread-safe; allocates nothing per
/// collective.
class FlightRecorder {
 public:
  static constexpr std::size_t kCapacity = 64;

  /// Returns the collective's sequence number. A long label is cut.
  std::uint64_t issue(const CollectiveSignature& signature, std::string_view label);
  void complete(std::uint64_t sequence);
  CollectiveHistory history() const;

 private:
  struct Entry {
    CollectiveSignature signature;
    std::array<char, 80> label{};
    bool is_done = false;
  };

  mutable std::mutex mutex_;
  std::uint64_t issued_ = 0;
  std::array<Entry, kCapacity> ring_;  // collective n is at n % kCapacity
};

std::string to_json(const CollectiveHistory& history);
/// Throws CommError for what no rank has written: the text came over the network.
CollectiveHistory history_from_json(const std::string& json);

/// Whether two ranks asked for the same collectives, as far as both histories tell.
bool are_in_step(const CollectiveHistory& left, const CollectiveHistory& right);

/// What is known when a collective failed.
struct CollectiveFailure {
  int rank = 0;                ///< who reports
  std::uint64_t sequence = 0;  ///< which of its collectives failed
  std::string cause;           ///< the backend's words
  /// By rank; nullopt where a rank did not answer in time.
  std::vector<std::optional<CollectiveHistory>> histories;
  std::vector<int> unreadable = {};  ///< ranks whose answer is not a rank's
  bool store_is_gone = false;  ///< rank 0's store did not answer, so the histories are missing
};

/// The message for the user: which ranks are missing, where the order of collectives diverged or
/// who lags behind, and the cause.
std::string explain(const CollectiveFailure& failure);

}  // namespace paceline::comm
