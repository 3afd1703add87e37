#include "paceline/checkpoint/branch.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/checkpoint/directory.h"
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

void copy_file(base::FileSystem& files, const fs::path& from, const fs::path& to) {
  const base::MappedFile source(from);
  const auto target = files.create(to);
  target->write(source.bytes());
  target->sync();
  target->close();
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

}  // namespace

Branch continue_from(base::FileSystem& files, const fs::path& checkpoint, const fs::path& folder) {
  const std::int64_t step = CheckpointReader(checkpoint).manifest().step;
  Branch branch{.continued = folder / checkpoint_name(step), .aside = {}, .abandoned_steps = {}};
  std::error_code absent;
  const bool is_inside = fs::equivalent(checkpoint, branch.continued, absent);
  for (const auto& [other_step, path] : named_checkpoints(folder)) {
    if (other_step < step || (other_step == step && is_inside)) continue;
    if (branch.aside.empty()) {
      branch.aside = unused_branch(folder);
      files.create_directories(branch.aside);
      files.sync_directory(folder);
    }
    files.rename(path, branch.aside / path.filename());
    branch.abandoned_steps.push_back(other_step);
  }
  if (!branch.aside.empty()) {
    files.sync_directory(branch.aside);
    files.sync_directory(folder);
  }
  if (!is_inside) take_over(files, checkpoint, branch.continued);
  return branch;
}

}  // namespace paceline::checkpoint
