#include "paceline/checkpoint/directory.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/log.h"

#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kTemporary = ".tmp";
constexpr std::string_view kOld = ".old";

fs::path with_suffix(const fs::path& path, std::string_view suffix) {
  fs::path result = path;
  result += suffix;
  return result;
}

/// Checkpoints, also those that are being written, removed or replaced. An absent folder has none.
std::vector<fs::path> entries_of_checkpoints(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (!base::file_exists(folder)) return paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (step_of_name(entry.path().stem().string())) paths.push_back(entry.path());
  }
  return paths;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("{}{:08}", kPrefix, step); }

std::optional<std::int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  return step >= 0 && checkpoint_name(step) == name ? std::optional(step) : std::nullopt;
}

fs::path temporary_of(const fs::path& checkpoint) { return with_suffix(checkpoint, kTemporary); }

std::string describe_lost_run(const fs::path& folder) {
  const fs::path run = folder.parent_path();
  if (run.empty() || base::folder_exists(run)) return {};
  return fmt::format(
      "the run directory {} is gone: it was removed or moved while the run saved to {}",
      run.string(), folder.string());
}

void make_empty_directory(base::FileSystem& files, const fs::path& path) {
  const fs::path folder = path.parent_path();
  const std::string loss = describe_lost_run(folder);
  if (!loss.empty()) throw base::CheckpointError(loss);
  // One folder at a time: to make a run's directory again, removed at this moment, would hide that
  // all that was in it is lost.
  if (!base::folder_exists(folder)) {
    files.create_directory(folder);
    files.sync_directory(fs::absolute(folder).parent_path());
  }
  files.remove_all(path);
  files.create_directory(path);
}

void copy_file(base::FileSystem& files, const fs::path& from, const fs::path& to) {
  const base::MappedFile source(from);
  const auto target = files.create(to);
  target->write(source.bytes());
  target->sync();
  target->close();
}

void publish_directory(base::FileSystem& files, const fs::path& temporary, const fs::path& target) {
  const fs::path old = with_suffix(target, kOld);
  files.sync_directory(temporary);
  if (base::file_exists(target)) {
    files.remove_all(old);
    files.rename(target, old);
  }
  files.rename(temporary, target);
  files.sync_directory(target.parent_path());
  if (base::file_exists(old)) files.remove_all(old);
}

void remove_checkpoint(base::FileSystem& files, const fs::path& path) {
  const fs::path temporary = temporary_of(path);
  files.remove_all(temporary);
  files.rename(path, temporary);
  files.sync_directory(path.parent_path());  // or the name could outlive the files
  files.remove_all(temporary);
}

void remove_quietly(base::FileSystem& files, const fs::path& path) {
  try {
    files.remove_all(path);
  } catch (const std::exception& error) {
    base::log_warning("{} could not be removed: {}", path.string(), error.what());
  }
}

void restore_replaced(base::FileSystem& files, const fs::path& folder) {
  for (const fs::path& path : entries_of_checkpoints(folder)) {
    const fs::path target = folder / path.stem();
    if (path.extension() == kOld && !base::file_exists(target)) files.rename(path, target);
  }
}

void clean_leftovers(base::FileSystem& files, const fs::path& folder) {
  restore_replaced(files, folder);
  std::vector<fs::path> leftovers = entries_of_checkpoints(folder);
  std::erase_if(leftovers, [](const fs::path& path) {
    return path.extension() != kOld && path.extension() != kTemporary;
  });
  // A run that was killed has not synced the names of what replaced them.
  if (!leftovers.empty()) files.sync_directory(folder);
  for (const fs::path& path : leftovers) {
    base::log_info("removing {}, left by a run that was stopped", path.string());
    files.remove_all(path);
  }
}

}  // namespace paceline::checkpoint
