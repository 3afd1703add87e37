#pragma once

#include "paceline/base/file.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace paceline::checkpoint {

/// What had to be put aside so that a run can go on from one of its checkpoints.
struct Branch {
  std::filesystem::path continued;            ///< the checkpoint, in the run's folder
  std::filesystem::path aside;                ///< branch-N in that folder; empty if nothing had to
  std::vector<std::int64_t> abandoned_steps;  ///< of what lies there now
};

/// Whether checkpoints of the run were put aside in `folder`.
bool has_branches(const std::filesystem::path& folder);

/// Makes `checkpoint` the newest of `folder`, so that whoever looks for the newest one finds it or
/// what follows it. What lies at later steps there, whole or damaged, is moved into a new folder
/// branch-N in `folder`. A checkpoint from elsewhere is linked into `folder`, or copied where links
/// cannot be made; then all that lies there is moved, since none of it led to that checkpoint.
///
/// `records` are files that the run writes beside its checkpoints and will cut at the step: copies
/// of them go aside with the checkpoints, and come back where a branch is gone back to. For the one
/// process that holds the folder's lock. Throws CheckpointError; interrupted, it has moved only a
/// part and can be called again.
Branch continue_from(base::FileSystem& files, const std::filesystem::path& checkpoint,
                     const std::filesystem::path& folder,
                     std::span<const std::filesystem::path> records = {});

}  // namespace paceline::checkpoint
