#include "paceline/callbacks/copy_checkpoints.h"

#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/train/run_context.h"

#include <random>

namespace paceline::callbacks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIdFile = "run_id";

std::string new_id() {
  std::random_device random;
  std::string id;
  for (int word = 0; word < 4; ++word) id += fmt::format("{:08x}", random());
  return id;
}

/// Of the run in this directory, which gets one if it has none.
std::string id_of_run(base::FileSystem& files, const fs::path& run) {
  const fs::path file = run / kIdFile;
  if (!base::file_exists(file)) write_file_atomically(files, file, new_id());
  return base::read_file(file);
}

/// Makes a folder that is this run's; leaves one alone that another process makes meanwhile.
void claim(base::FileSystem& files, const fs::path& folder, const std::string& id) {
  const fs::path temporary = base::unfinished_path(folder);
  files.create_directories(temporary);
  try {
    write_file_atomically(files, temporary / kIdFile, id);
    files.rename(temporary, folder);
  } catch (const base::FileError&) {
    checkpoint::remove_quietly(files, temporary);
    if (!base::file_exists(folder)) throw;
  }
  files.sync_directory(folder.parent_path());
}

/// The folder of a run among those of others.
fs::path own_folder(base::FileSystem& files, const fs::path& to, const std::string& name,
                    const std::string& id) {
  for (int number = 1;; ++number) {
    const fs::path folder = to / (number == 1 ? name : fmt::format("{}-{}", name, number));
    if (!base::file_exists(folder)) claim(files, folder, id);
    const fs::path file = folder / kIdFile;
    if (base::file_exists(file) && base::read_file(file) == id) return folder;
  }
}

void copy_checkpoint(base::FileSystem& files, const fs::path& from, const fs::path& to) {
  const fs::path temporary = checkpoint::temporary_of(to);
  checkpoint::make_empty_directory(files, temporary);
  for (const fs::directory_entry& entry : fs::directory_iterator(from))
    checkpoint::copy_file(files, entry.path(), temporary / entry.path().filename());
  checkpoint::publish_directory(files, temporary, to);
}

/// Of the checkpoints up to this one. Later ones are of a branch that the run has left.
void remove_all_but_newest(base::FileSystem& files, const fs::path& newest, std::size_t count) {
  auto saved = checkpoint::list_checkpoints(newest.parent_path()).complete;
  std::erase_if(saved, [&](const checkpoint::Listed& listed) {
    return listed.path.filename() > newest.filename();
  });
  for (std::size_t i = 0; i + count < saved.size(); ++i)
    checkpoint::remove_checkpoint(files, saved[i].path);
}

}  // namespace

std::optional<std::string> CopyCheckpoints::on_event(train::Event /*event*/,
                                                     const train::TrainState& /*state*/,
                                                     const train::RunContext& run) {
  run_directory_ = run.run_directory;
  return std::nullopt;
}

void CopyCheckpoints::on_saved(const fs::path& checkpoint, base::FileSystem& files) {
  const fs::path to(config_.to);
  const fs::path checkpoints = checkpoint.parent_path();
  const fs::path run = run_directory_.empty() ? checkpoints : run_directory_;
  if (base::lies_in(to, run) || base::lies_in(to, checkpoints)) {
    throw base::ConfigError(
        fmt::format("to is {}, which lies in the run itself, so nothing is copied: name a folder "
                    "elsewhere",
                    config_.to));
  }
  base::create_durable_directories(files, to);
  const std::string name = fs::weakly_canonical(run).filename().string();
  const fs::path folder = own_folder(files, to, name, id_of_run(files, run));
  checkpoint::clean_leftovers(files, folder);
  const fs::path copy = folder / checkpoint.filename();
  copy_checkpoint(files, checkpoint, copy);
  base::log_info("copied {}", copy.string());
  if (config_.keep) remove_all_but_newest(files, copy, static_cast<std::size_t>(*config_.keep));
}

std::unique_ptr<train::Callback> make(const CopyCheckpointsConfig& config) {
  return std::make_unique<CopyCheckpoints>(config);
}

}  // namespace paceline::callbacks
