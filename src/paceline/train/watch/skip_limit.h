#pragma once

#include "paceline/comm/communicator.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace paceline::train {

/// Ends a run whose data is too damaged to skip over it.
class SkipLimit {
 public:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  explicit SkipLimit(std::int64_t most) : most_(most) {}

  /// Remembers what this rank could not read.
  void add(std::span<const std::string> skipped);

  /// Throws DataError on every rank if `total`, which is that of all ranks, is too much; `where` is
  /// for the message. Communicates only then.
  void check(std::int64_t total, std::string_view where, comm::Communicator& communicator) const;

  /// The last sample that each rank skipped and what is wrong with it, of a few ranks; "" if there
  /// is none. Every rank must call it.
  std::string describe(comm::Communicator& communicator) const;

 private:
  std::int64_t most_;
  std::string last_;
};

}  // namespace paceline::train
