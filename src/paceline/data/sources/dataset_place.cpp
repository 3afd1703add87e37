#include "paceline/data/sources/dataset_place.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/data/sources/local_copy.h"

#include <fmt/format.h>

namespace paceline::data {

void require_path(std::string_view path, std::string_view dataset) {
  if (!path.empty()) return;
  throw base::ConfigError(
      fmt::format("data.path: is not set, and {} needs the place of its files: write it", dataset));
}

std::filesystem::path place_of(const std::string& path, std::string_view dataset) {
  require_path(path, dataset);
  return without_file_scheme(path);
}

std::filesystem::path local_place_of(const std::string& path, std::string_view dataset,
                                     const std::shared_ptr<const Storage>& storage,
                                     const std::vector<std::string>& files) {
  std::filesystem::path place = place_of(path, dataset);
  if (!is_remote(place)) return place;
  return copy_to_this_machine(*storage, place.string(), files);
}

std::string folder_of(const std::string& train_folder, const std::string& val_folder, Split split) {
  const std::string& folder = split == Split::kTrain ? train_folder : val_folder;
  return folder == "." ? "" : folder;
}

std::string val_folder_at(const std::string& val_path, const std::string& train_folder,
                          const std::string& val_folder, const Storage& storage) {
  const std::filesystem::path place = val_path;
  if (is_folder(storage, place / val_folder)) return val_folder;
  if (train_folder != "." && is_folder(storage, place / train_folder))
    throw base::DataError(
        fmt::format("data.val_path: {} has a folder {} and no {}: name its validation folder in "
                    "data.val_folder, or give that folder itself",
                    val_path, train_folder, val_folder));
  return ".";  // it is that folder itself
}

void require_val_path(const std::string& val_path) {
  if (is_remote(val_path) || base::file_exists(val_path)) return;
  throw base::DataError(fmt::format(
      "data.val_path: {} is not there; name the folder of the validation images, or a data set of "
      "the same kind as data.path",
      val_path));
}

void refuse_val_path(std::string_view dataset) {
  throw base::ConfigError(
      fmt::format("data.val_path: {} lies in no folder: leave it out", dataset));
}

}  // namespace paceline::data
