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

/// The parts of a save. All but two call no collectives; how the ranks agree is their caller's
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

/// Where a rank beside 0 leaves its report, in the temporary directory.
std::filesystem::path report_file(const SaveRequest& request, int rank);

/// Leaves a rank's report for rank 0, when its file is on disk. Not synced: nobody looks for it
/// after a stop.
void leave_report(const SaveRequest& request, int rank, const std::string& report,
                  base::FileSystem& files);

/// For rank 0, when it has read them.
void remove_reports(const SaveRequest& request, std::span<const int> ranks,
                    base::FileSystem& files);

/// For rank 0, after all ranks have written into the temporary directory: writes the manifest from
/// their reports and gives the directory its name. Throws CheckpointError.
void commit_checkpoint(const SaveRequest& request, const std::vector<std::string>& reports,
                       base::FileSystem& files);

/// "the checkpoint at step 7 was not saved"
std::string not_saved(const SaveRequest& request);

/// After a failure anywhere: removes what was written and throws the same kind of error,
/// CheckpointError or DivergedError, that says which checkpoints are left, too. Every rank must
/// call it; rank 0 alone looks at the disk.
[[noreturn]] void fail_save(const SaveRequest& request, comm::Communicator& communicator,
                            const base::Error& problem, base::FileSystem& files);

}  // namespace paceline::checkpoint
