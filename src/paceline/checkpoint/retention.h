#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/listing.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::checkpoint {

/// Which checkpoints stay. One that is among the last or among the best is kept.
struct RetentionPolicy {
  std::optional<std::int64_t> keep_last = 3;  ///< at least 1; nothing: keep all
  std::int64_t keep_best = 0;
  std::string monitor = {};  ///< the metric that says what is best, as in Monitored::name
  MonitorMode mode = MonitorMode::kMax;
};

/// What the policy gives up, oldest first. The newest is never among them.
std::vector<Listed> superseded(const std::vector<Listed>& checkpoints,
                               const RetentionPolicy& policy);

/// Removes what the policy gives up; damaged checkpoints are left for their owner to look at. For
/// rank 0, after a save has succeeded. Returns what was removed. Throws CheckpointError.
std::vector<std::filesystem::path> apply_retention(base::FileSystem& files,
                                                   const std::filesystem::path& folder,
                                                   const RetentionPolicy& policy);

}  // namespace paceline::checkpoint
