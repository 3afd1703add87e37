#include "paceline/app/prediction/pending_folder.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/checkpoint/directory.h"

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

}  // namespace

PendingFolder::PendingFolder(base::FileSystem& files, const fs::path& folder)
    : files_(files), folder_(fs::absolute(folder).lexically_normal()) {
  if (!folder_.has_filename()) folder_ = folder_.parent_path();
  if (base::file_exists(folder_)) {
    throw base::FileError("write", folder_,
                          "it is there already: name another folder, or remove it");
  }
  base::create_durable_directories(files_, folder_.parent_path());
  temporary_ = base::unfinished_path(folder_);
  files_.create_directories(temporary_);
}

PendingFolder::~PendingFolder() {
  if (!is_published_) checkpoint::remove_quietly(files_, temporary_);
}

void PendingFolder::publish() {
  files_.sync_directory(temporary_);
  files_.rename(temporary_, folder_);
  is_published_ = true;
  files_.sync_directory(folder_.parent_path());
}

}  // namespace paceline::app
