#include "paceline/pretrained/partial_file.h"

#include <utility>

namespace paceline::pretrained {

namespace fs = std::filesystem;

PartialFile::PartialFile(base::FileSystem& files, fs::path path)
    : files_(files), path_(std::move(path)) {
  files_.create_directories(path_.parent_path());
  output_ = files_.append(path_);
  const base::MappedFile before(path_);
  sum_.update(before.bytes());
  size_ = before.bytes().size();
}

void PartialFile::append(std::string_view bytes) {
  output_->write(bytes);
  sum_.update(bytes);
  size_ += bytes.size();
  watcher_(size_);
}

void PartialFile::restart() {
  output_->close();
  output_ = files_.create(path_);
  sum_ = {};
  size_ = 0;
}

void PartialFile::become(const fs::path& target) {
  output_->sync();
  output_->close();
  files_.create_directories(target.parent_path());
  files_.rename(path_, target);
  files_.sync_directory(target.parent_path());
}

void PartialFile::discard() {
  output_->close();
  files_.remove_all(path_);
}

std::string sha256_of_file(const fs::path& path) {
  const base::MappedFile file(path);
  base::Sha256Stream sum;
  sum.update(file.bytes());
  return sum.hex_digest();
}

}  // namespace paceline::pretrained
