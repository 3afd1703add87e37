#pragma once

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/checkpoint/writer.h"
#include "paceline/tensor/state_shard.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace paceline::checkpoint {

/// The parts of a save. All but one call no collectives; how the ranks agree is their caller's
/// business.

/// The name that the checkpoint will have.
std::filesystem::path target_of(const SaveRequest& request);

/// The ranks that have something to write. Every rank must call it.
std::vector<int> ranks_that_write(std::span<const tensor::StateShard> shards,
                                  comm::Communicator& communicator);

/// Writes and fsyncs a rank's file of a checkpoint, if it has anything to write, and returns what
/// the manifest must say of it, as JSON. Throws CheckpointError, and DivergedError for what is not
/// finite.
std::string write_rank_file(std::span<const tensor::StateShard> shards,
                            const std::filesystem::path& directory, int rank,
                            base::FileSystem& files);

/// For rank 0, after all ranks have written into the temporary directory: writes the manifest from
/// their reports and gives the directory its name. Throws CheckpointError.
void commit_checkpoint(const SaveRequest& request, const std::vector<std::string>& reports,
                       base::FileSystem& files);

/// "the checkpoint at step 7 was not saved"
std::string not_saved(const SaveRequest& request);

/// For every rank after a failure anywhere: removes what was written and throws the same kind of
/// error, CheckpointError or DivergedError, that says which checkpoints are left, too.
[[noreturn]] void fail_save(const SaveRequest& request, int rank, const base::Error& problem,
                            base::FileSystem& files);

}  // namespace paceline::checkpoint
