#pragma once

#include "paceline/base/file.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::checkpoint {

/// How a checkpoint's directory gets and loses its name, so that a name always stands for a whole
/// checkpoint, whenever the program or the machine stops:
///   step-00000100      complete
///   step-00000100.tmp  being written or removed; of no use to anybody
///   step-00000100.old  complete, and about to be replaced by one of the same step

/// "step-00000100"
std::string checkpoint_name(std::int64_t step);
/// The step of such a name; nothing for any other.
std::optional<std::int64_t> step_of_name(std::string_view name);

std::filesystem::path temporary_of(const std::filesystem::path& checkpoint);

/// That the run directory around a folder of checkpoints was removed or moved under the run, for
/// people; "" while it is there.
std::string describe_lost_run(const std::filesystem::path& folder);

/// A fresh directory in place of whatever was there, in a folder that is made if need be. Throws
/// CheckpointError if that folder's own one, the run directory, is gone.
void make_empty_directory(base::FileSystem& files, const std::filesystem::path& path);

/// Copies a file. Its bytes are on disk when this returns, its name once the folder is synced.
void copy_file(base::FileSystem& files, const std::filesystem::path& from,
               const std::filesystem::path& to);

/// Gives the finished `temporary` its name for good, and removes the checkpoint that had it.
void publish_directory(base::FileSystem& files, const std::filesystem::path& temporary,
                       const std::filesystem::path& target);

/// Removes a checkpoint; interrupted, it leaves the whole one or a .tmp.
void remove_checkpoint(base::FileSystem& files, const std::filesystem::path& path);

/// Removes a directory after a failure that is being reported; a second failure is only logged.
void remove_quietly(base::FileSystem& files, const std::filesystem::path& path);

/// Brings checkpoints back whose replacements never came. For the one process that holds the
/// folder's lock, before it looks for checkpoints.
void restore_replaced(base::FileSystem& files, const std::filesystem::path& folder);

/// Removes what dead runs left in `folder`, and restores what they were replacing. For the one
/// process that holds the folder's lock, before it saves.
void clean_leftovers(base::FileSystem& files, const std::filesystem::path& folder);

}  // namespace paceline::checkpoint
