#pragma once

#include "paceline/comm/flight_recorder.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace paceline::comm {

/// What the ranks answered when one asked all of them what they are at.
struct RollCall {
  /// By rank; nullopt where a rank did not answer in time.
  std::vector<std::optional<CollectiveHistory>> histories;
  std::vector<int> unreadable = {};  ///< ranks whose answer is not a rank's
};

/// A text of some `longest` bytes at most, however many ranks there are: most are at the same,
/// which is written once, and where many differ, only their last collectives are.
std::string to_json(const RollCall& call, std::size_t longest);

/// Throws CommError for what no rank of `world_size` ranks has written: the text came over the
/// network.
RollCall roll_call_from_json(const std::string& json, int world_size);

}  // namespace paceline::comm
