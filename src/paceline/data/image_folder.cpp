#include "paceline/data/image_folder.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

void check_folder(const fs::path& path, const std::string& split) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    throw base::DataError(
        fmt::format("{}: no such folder; set data.path to the folder that holds {}/<class>/*.jpg",
                    path.string(), split));
  }
  if (!fs::is_directory(path / split, error)) {
    throw base::DataError(
        fmt::format("{}: no such folder; expected images in {}/<class>/. Move them there, or name "
                    "the folder in "
                    "data.train_folder or data.val_folder",
                    (path / split).string(), (path / split).string()));
  }
}

std::vector<fs::path> index_files(const fs::path& path, const std::string& split) {
  std::string name = split;
  std::replace(name.begin(), name.end(), '/', '-');
  std::vector<fs::path> files = {path / fmt::format(".paceline-{}.index", name)};
  fs::path cache;
  if (const char* const folder = std::getenv("XDG_CACHE_HOME"); folder != nullptr && *folder != 0) {
    cache = folder;
  } else if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0) {
    cache = fs::path(home) / ".cache";
  }
  if (!cache.empty()) {
    const std::string root = fs::absolute(path / split).lexically_normal().string();
    files.push_back(cache / "paceline" / fmt::format("{:016x}-{}.index", base::xxh3(root), name));
  }
  return files;
}

ImageIndex open_index(const fs::path& path, const std::string& split,
                      const std::vector<std::string>& classes) {
  const std::vector<fs::path> files = index_files(path, split);
  for (const fs::path& file : files) {
    if (std::optional<ImageIndex> index = ImageIndex::load(file, path / split, classes)) {
      return *std::move(index);
    }
  }
  ImageIndex index = ImageIndex::list(path / split, classes);
  if (index.is_settled()) {
    // Where neither place can be written, the next start lists the folder again.
    std::any_of(files.begin(), files.end(), [&](const fs::path& file) { return index.save(file); });
  }
  return index;
}

std::vector<std::string> open_classes(const fs::path& path, const std::string& split,
                                      const std::string& label_split) {
  check_folder(path, split);
  std::error_code error;
  const bool has_labels = fs::is_directory(path / label_split, error);
  return list_classes(path / (has_labels ? label_split : split));
}

/// A file descriptor that closes itself.
class File {
 public:
  explicit File(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

/// False with errno set if the file cannot be read.
bool read_file(const std::string& path, std::vector<std::uint8_t>& bytes) {
  const File file(path);
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return false;
  bytes.resize(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::read(file.number(), bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) bytes.resize(done);  // it shrank meanwhile; the decoder will find out
    done += static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& path, const std::string& split,
                         const std::string& label_split)
    : root_(path / split),
      classes_(open_classes(path, split, label_split)),
      index_(open_index(path, split, classes_)) {}

void ImageFolder::get(std::int64_t index, StoredSample& sample) const {
  const std::string path = describe(index);
  if (!read_file(path, sample.bytes)) {
    throw base::DataError(fmt::format("{}: cannot read: {}", path, std::strerror(errno)));
  }
  sample.width = 0;
  sample.height = 0;
  sample.label = index_.label(index);
}

std::string ImageFolder::describe(std::int64_t index) const {
  return (root_ / index_.path(index)).string();
}

}  // namespace paceline::data
