#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/comm/communicator.h"
#include "paceline/tensor/state_shard.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace paceline::checkpoint {

/// What one checkpoint is made of. Rank 0's values of all but `shards` are saved.
struct SaveRequest {
  std::filesystem::path
      folder;  ///< of all checkpoints of the run, on a file system that all ranks share
  std::int64_t step = 0;
  /// This rank's; those with is_writer are written.
  std::span<const tensor::StateShard> shards = {};
  nlohmann::json state = {};
  std::string config = {};
  std::optional<Monitored> monitored = {};
  Environment environment = {};
  std::map<std::string, std::string> inputs = {};  ///< as in Manifest
  std::vector<std::string> class_names = {};       ///< as in Manifest
  std::optional<SurgeryRecord> surgery = {};       ///< as in Manifest
  std::string standing_weights = {};               ///< as in Manifest
  /// Called by rank 0 when all files of the checkpoint are written and before it gets its name, on
  /// whatever thread does that: what must be on disk before the checkpoint is.
  std::function<void()> before_publication = {};
};

/// Saves a checkpoint under folder/checkpoint_name(step) and returns that path. Each rank writes
/// and fsyncs a file of its own, rank 0 the manifest; then the directory gets its name. One of the
/// same step is replaced. Every rank must call it. A failure on any rank throws the same
/// CheckpointError on all of them, or DivergedError for a state that is not finite, removes what
/// was written and leaves earlier checkpoints as they were.
std::filesystem::path save_checkpoint(const SaveRequest& request, comm::Communicator& communicator,
                                      base::FileSystem& files);

}  // namespace paceline::checkpoint
