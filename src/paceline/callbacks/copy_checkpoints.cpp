#include "paceline/callbacks/copy_checkpoints.h"

#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/listing.h"

namespace paceline::callbacks {
namespace {

namespace fs = std::filesystem;

void copy_checkpoint(base::FileSystem& files, const fs::path& from, const fs::path& to) {
  const fs::path temporary = checkpoint::temporary_of(to);
  checkpoint::make_empty_directory(files, temporary);
  for (const fs::directory_entry& entry : fs::directory_iterator(from))
    checkpoint::copy_file(files, entry.path(), temporary / entry.path().filename());
  checkpoint::publish_directory(files, temporary, to);
}

void remove_all_but_newest(base::FileSystem& files, const fs::path& folder, std::size_t count) {
  const auto saved = checkpoint::list_checkpoints(folder).complete;
  for (std::size_t i = 0; i + count < saved.size(); ++i)
    checkpoint::remove_checkpoint(files, saved[i].path);
}

}  // namespace

void CopyCheckpoints::on_saved(const fs::path& checkpoint, base::FileSystem& files) {
  const fs::path folder(config_.to);
  base::create_durable_directories(files, folder);
  if (fs::equivalent(folder, checkpoint.parent_path())) {
    throw base::ConfigError(
        fmt::format("to is {}, where the run's checkpoints are; name another folder, of this run "
                    "alone",
                    config_.to));
  }
  const fs::path copy = folder / checkpoint.filename();
  copy_checkpoint(files, checkpoint, copy);
  base::log_info("copied {}", copy.string());
  if (config_.keep) remove_all_but_newest(files, folder, static_cast<std::size_t>(*config_.keep));
}

std::unique_ptr<train::Callback> make(const CopyCheckpointsConfig& config) {
  return std::make_unique<CopyCheckpoints>(config);
}

}  // namespace paceline::callbacks
