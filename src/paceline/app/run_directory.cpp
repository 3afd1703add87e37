#include "paceline/app/run_directory.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/comm/agreement.h"

#include <ctime>

namespace paceline::app {
namespace {

std::filesystem::path default_path(const std::string& parent, const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  const std::filesystem::path first =
      std::filesystem::path(parent) / fmt::format("{}-{}", name, text);
  std::filesystem::path path = first;
  for (int number = 2; std::filesystem::exists(path); ++number) {
    path = fmt::format("{}-{}", first.string(), number);
  }
  return path;
}

}  // namespace

RunDirectory::RunDirectory(const std::optional<std::filesystem::path>& wanted,
                           const std::string& parent, const std::string& name, bool is_resuming,
                           comm::Communicator& communicator) {
  path_ = comm::first_rank_decides(communicator, [&] {
    path_ =
        std::filesystem::absolute(wanted ? *wanted : default_path(parent, name)).lexically_normal();
    lock_ = std::make_unique<checkpoint::RunLock>(path_);
    if (!is_resuming && std::filesystem::exists(config_file())) {
      throw base::CheckpointError(fmt::format(
          "{} holds a run already: go on with it by --resume auto, or name another --run-dir",
          path_.string()));
    }
    return path_.string();
  });
}

std::filesystem::path RunDirectory::checkpoint_folder(const std::optional<std::string>& dir) const {
  return dir ? std::filesystem::absolute(*dir) : path_ / "checkpoints";
}

CheckpointChoice find_checkpoint(const std::filesystem::path& run_or_checkpoint) {
  const std::filesystem::path& path = run_or_checkpoint;
  if (!std::filesystem::exists(path)) {
    throw base::CheckpointError(fmt::format(
        "{}: there is no such run or checkpoint; give a run directory or one of its checkpoints",
        path.string()));
  }
  CheckpointChoice choice;
  if (std::filesystem::exists(path / checkpoint::kManifestFile)) {
    choice.path = path;
    return choice;
  }
  const std::filesystem::path inner = path / "checkpoints";
  const std::filesystem::path folder = std::filesystem::exists(inner) ? inner : path;
  const checkpoint::Latest latest = checkpoint::find_latest(folder);
  for (const checkpoint::Damaged& damaged : latest.skipped) {
    choice.notes.push_back(fmt::format("passed over the damaged checkpoint {}: {}",
                                       damaged.path.string(), damaged.reason));
  }
  if (!latest.path) {
    throw base::CheckpointError(fmt::format("{} holds no usable checkpoint{}{}", folder.string(),
                                            choice.notes.empty() ? "" : "; ",
                                            choice.notes.empty() ? "" : choice.notes.front()));
  }
  choice.path = *latest.path;
  return choice;
}

}  // namespace paceline::app
