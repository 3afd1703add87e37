#include "paceline/data/image_folder.h"

#include "paceline/base/error.h"
#include "paceline/data/index_cache.h"
#include "paceline/data/input_file.h"

#include <utility>

#include <fmt/format.h>

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

ImageIndex open_index(const fs::path& path, const std::string& split,
                      const std::vector<std::string>& classes) {
  return load_or_make(
      index_files(path, split),
      [&](const fs::path& file) { return ImageIndex::load(file, path / split, classes); },
      [&] { return ImageIndex::list(path / split, classes); });
}

std::vector<std::string> open_classes(const fs::path& path, const std::string& split,
                                      const std::string& label_split) {
  check_folder(path, split);
  std::error_code error;
  const bool has_labels = fs::is_directory(path / label_split, error);
  return list_classes(path / (has_labels ? label_split : split));
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& path, const std::string& split,
                         const std::string& label_split)
    : ImageFolder(path, split, open_classes(path, split, label_split)) {}

ImageFolder::ImageFolder(const fs::path& path, const std::string& split,
                         std::vector<std::string> classes)
    : root_(path / split),
      classes_(std::move(classes)),
      index_(open_index(path, split, classes_)) {}

void ImageFolder::get(std::int64_t index, StoredSample& sample) const {
  const LocalFile file(root_ / index_.path(index));
  sample.bytes.resize(file.size());
  file.read(0, sample.bytes);
  sample.width = 0;
  sample.height = 0;
  sample.label = index_.label(index);
}

std::string ImageFolder::name(std::int64_t index) const {
  const std::string path = index_.path(index);
  return path.substr(path.find('/') + 1);
}

std::string ImageFolder::describe(std::int64_t index) const {
  return (root_ / index_.path(index)).string();
}

}  // namespace paceline::data
