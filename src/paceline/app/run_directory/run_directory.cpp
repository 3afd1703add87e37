#include "paceline/app/run_directory/run_directory.h"

#include "paceline/app/run_directory/phase_folders.h"
#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/comm/agreement.h"
#include "paceline/config/parse.h"

#include <ctime>
#include <utility>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpoints = "checkpoints";

fs::path folder_of_checkpoints(const RunPlace& place, const fs::path& run) {
  return place.checkpoint_dir ? fs::absolute(*place.checkpoint_dir) : run / kCheckpoints;
}

/// A run of phases and one without them do not go on with each other.
void refuse_other_kind(const fs::path& run, bool has_phases) {
  const bool holds_phases = !phase_folders(run).empty();
  if (holds_phases == has_phases || !base::file_exists(run / kConfigFile)) return;
  throw base::CheckpointError(
      holds_phases
          ? fmt::format("{} holds a run of phases, and the recipe has none: put them back, go on "
                        "with one of them ({}), or name another --run-dir",
                        run.string(), phase_folders(run).back().string())
          : fmt::format("{} holds a run without phases, and the recipe has some: take them out, or "
                        "name another --run-dir",
                        run.string()));
}

}  // namespace

fs::path new_run_path(const std::string& parent, const std::string& name) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  const fs::path first = fs::path(parent) / fmt::format("{}-{}", name, text);
  fs::path path = first;
  for (int number = 2; base::file_exists(path); ++number) {
    path = fmt::format("{}-{}", first.string(), number);
  }
  return path;
}

RunDirectory::RunDirectory(const RunPlace& place, bool is_resuming,
                           comm::Communicator& communicator, base::FileSystem& files)
    : is_scratch_(place.is_scratch) {
  path_ = comm::first_rank_decides(communicator, [&] {
    path_ = fs::absolute(place.wanted ? *place.wanted : new_run_path(place.parent, place.name))
                .lexically_normal();
    checkpoint_folder_ = folder_of_checkpoints(place, path_);
    lock(place, is_resuming, files);
    return path_.string();
  });
  checkpoint_folder_ = folder_of_checkpoints(place, path_);
}

void RunDirectory::lock(const RunPlace& place, bool is_resuming, base::FileSystem& files) {
  is_new_ = !base::file_exists(path_);
  locks_.push_back(std::make_unique<checkpoint::RunLock>(path_, "--run-dir", files));
  if (!is_resuming && base::file_exists(config_file())) {
    throw base::CheckpointError(fmt::format(
        "{} holds a run already: go on with it by --resume auto, or name another --run-dir",
        path_.string()));
  }
  refuse_other_kind(path_, place.holds_phases);
  if (place.holds_phases || (!place.saves && !is_resuming)) return;
  locks_.push_back(
      std::make_unique<checkpoint::RunLock>(checkpoint_folder_, "checkpoint.dir", files));
  if (!is_resuming && !checkpoint::list_checkpoints(checkpoint_folder_).is_empty()) {
    throw base::CheckpointError(fmt::format(
        "{} holds the checkpoints of another run: name another folder as checkpoint.dir, or go on "
        "with that run by --resume auto",
        checkpoint_folder_.string()));
  }
}

void RunDirectory::abandon() {
  if (!is_new_) return;
  for (const fs::path& folder : {path_ / kCheckpoints, phase_folder(path_, ""), path_}) {
    std::error_code ignored;  // what is not empty stays
    fs::remove(folder / "lock", ignored);
    fs::remove(folder, ignored);
  }
}

void RunDirectory::require() const {
  for (const auto& lock : locks_) lock->require();
}

std::optional<fs::path> folder_of_run(const fs::path& directory) {
  const fs::path config_file = directory / kConfigFile;
  if (base::file_exists(config_file)) {
    const config::Node written = config::parse_file(config_file);
    const config::Node* dir = written.find_path("checkpoint.dir");
    if (dir != nullptr && dir->is_scalar() && !dir->is_null()) {
      fs::path folder = fs::absolute(dir->text);
      const fs::path moved = directory / folder.filename();  // with the run, if it lay in there
      return !base::file_exists(folder) && base::file_exists(moved) ? moved : folder;
    }
  }
  const fs::path inner = directory / kCheckpoints;
  return base::file_exists(inner) ? std::optional(inner) : std::nullopt;
}

}  // namespace paceline::app
