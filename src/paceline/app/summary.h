#pragma once

#include "paceline/app/session.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/train/stop_rule.h"

#include <cstdint>
#include <optional>

#include <nlohmann/json_fwd.hpp>

namespace paceline::app {

/// summary.json of a run but for what it says of memory: how it ended, its final metrics, time,
/// throughput, use of the machine, versions and the best checkpoint, if there is one. Ends what
/// loggers measure themselves.
nlohmann::json summary_of(const Session& session, const train::FitResult& result,
                          const std::optional<checkpoint::Listed>& best);

/// Largest resident memory of this process so far, in bytes.
std::uint64_t peak_resident_bytes();

}  // namespace paceline::app
