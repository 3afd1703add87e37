#include "paceline/checkpoint/branch.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/links.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/checkpoint/reader.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

/// All that have a checkpoint's name, by step.
std::vector<std::pair<std::int64_t, fs::path>> named_checkpoints(const fs::path& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  if (!base::file_exists(folder)) return found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (const auto step = step_of_name(entry.path().filename().string()))
      found.emplace_back(*step, entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

fs::path unused_branch(const fs::path& folder) {
  int number = 1;
  while (base::file_exists(folder / fmt::format("branch-{}", number))) ++number;
  return folder / fmt::format("branch-{}", number);
}

/// Links or copies the files that the manifest names, and it.
void take_over(base::FileSystem& files, const fs::path& checkpoint, const fs::path& target) {
  const fs::path temporary = temporary_of(target);
  make_empty_directory(files, temporary);
  const CheckpointReader reader(checkpoint);
  std::vector<std::string> names{std::string(kManifestFile)};
  for (const FileRecord& file : reader.manifest().files) names.push_back(file.name);
  for (const std::string& name : names) {
    if (!files.link(checkpoint / name, temporary / name))
      copy_file(files, checkpoint / name, temporary / name);
  }
  publish_directory(files, temporary, target);
}

/// A new branch-N with copies of the records.
fs::path make_branch(base::FileSystem& files, const fs::path& folder,
                     std::span<const fs::path> records) {
  const fs::path branch = unused_branch(folder);
  files.create_directories(branch);
  for (const fs::path& record : records) {
    if (fs::exists(record)) copy_file(files, record, branch / record.filename());
  }
  return branch;
}

/// Puts the records that lie beside a checkpoint in the place of the run's.
void bring_back(base::FileSystem& files, const fs::path& checkpoint, const fs::path& folder,
                std::span<const fs::path> records) {
  for (const fs::path& record : records) {
    const fs::path kept = checkpoint.parent_path() / record.filename();
    if (!fs::exists(kept)) continue;
    files.sync_directory(folder);  // the copy of what it replaces has its name
    const fs::path unfinished = base::unfinished_path(record);
    copy_file(files, kept, unfinished);
    files.rename(unfinished, record);
    files.sync_directory(record.parent_path());
  }
}

}  // namespace

bool has_branches(const fs::path& folder) { return fs::exists(folder / "branch-1"); }

Branch continue_from(base::FileSystem& files, const fs::path& checkpoint, const fs::path& folder,
                     std::span<const fs::path> records) {
  const std::int64_t step = CheckpointReader(checkpoint).manifest().step;
  Branch branch{.continued = folder / checkpoint_name(step), .aside = {}, .abandoned_steps = {}};
  std::error_code absent;
  const bool is_inside = fs::equivalent(checkpoint, branch.continued, absent);
  for (const auto& [other_step, path] : named_checkpoints(folder)) {
    if (is_inside && other_step <= step) continue;
    if (branch.aside.empty()) {
      remove_links(files, folder);  // the next save points them anew
      branch.aside = make_branch(files, folder, records);
    }
    files.rename(path, branch.aside / path.filename());
    branch.abandoned_steps.push_back(other_step);
  }
  // In this order: no name is gone before it is elsewhere.
  if (!branch.aside.empty()) files.sync_directory(branch.aside);
  if (!is_inside) {
    bring_back(files, checkpoint, folder, records);
    take_over(files, checkpoint, branch.continued);  // syncs the folder, too
  } else if (!branch.aside.empty()) {
    files.sync_directory(folder);
  }
  return branch;
}

}  // namespace paceline::checkpoint
