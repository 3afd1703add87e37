#include "paceline/data/sources/image_folder.h"

#include "paceline/base/error.h"
#include "paceline/data/index/image_listing.h"
#include "paceline/data/index/index_cache.h"
#include "paceline/data/sources/dataset_name.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/sources/range_dataset.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/format.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

/// A folder of this data set that may be the part that is missing: ", which validation/ may be".
std::string other_name(const fs::path& path, std::string_view key,
                       std::span<const std::string_view> names, const Storage& storage) {
  for (const std::string_view name : names) {
    if (is_folder(storage, path / name)) return fmt::format(": {}={} is there", key, name);
  }
  return "";
}

/// For a folder that another format's files lie in.
std::string what_it_is(const fs::path& path, const std::shared_ptr<const Storage>& storage) {
  try {
    const std::string name = dataset_name(path, storage);
    if (name != "image_folder")
      return fmt::format(". It looks like {0}: data.name={0} reads it", name);
  } catch (const base::DataError&) {  // nothing is known of it
  }
  return "";
}

[[noreturn]] void refuse_absent_part(const fs::path& path, const std::string& split,
                                     bool is_validation, const Storage& storage) {
  constexpr std::array<std::string_view, 4> kValNames{"val", "validation", "valid", "test"};
  constexpr std::array<std::string_view, 2> kTrainNames{"train", "training"};
  const std::string what =
      fmt::format("{0}: no such folder; expected images in {0}/<class>/", (path / split).string());
  if (is_validation)
    throw AbsentPartError(fmt::format("{}. Name the folder in data.val_folder{}", what,
                                      other_name(path, "data.val_folder", kValNames, storage)));
  throw AbsentPartError(fmt::format(
      "{}. Move them there, or name the folder in data.train_folder{} (data.train_folder=. for "
      "classes that lie in {} itself)",
      what, other_name(path, "data.train_folder", kTrainNames, storage), path.string()));
}

void check_folder(const fs::path& path, const std::string& split, const std::string& label_split,
                  const std::shared_ptr<const Storage>& storage) {
  if (is_folder(*storage, path / split)) return;
  if (!is_folder(*storage, path)) {
    throw base::DataError(
        fmt::format("{}: no such folder; set data.path to the folder that holds {}/<class>/*.jpg",
                    path.string(), split));
  }
  const bool has_a_part = std::ranges::any_of(
      std::array<std::string, 3>{label_split, "train", "val"},
      [&](const std::string& part) { return is_folder(*storage, path / part); });
  if (const std::string other = has_a_part ? "" : what_it_is(path, storage); !other.empty())
    throw base::DataError(fmt::format("{}: no such folder{}", (path / split).string(), other));
  refuse_absent_part(path, split, /*is_validation=*/split != label_split, *storage);
}

RangeIndex open_index(const fs::path& path, const std::string& split,
                      const std::vector<std::string>& classes,
                      const std::shared_ptr<const Storage>& storage) {
  const fs::path root = path / split;
  const auto load = [&](const fs::path& file) { return load_image_folder(file, root, classes); };
  ListingProgress progress(root.string(), *storage);
  if (is_remote(path))
    return make_once(index_files(path, split), *storage, load, [&] {
      return list_image_folder(root, classes, storage->num_connections(), storage, &progress);
    });
  return load_or_make(index_files(path, split), *storage, load, [&] {
    constexpr int kAllCores = 0;
    return list_image_folder(root, classes, kAllCores, local_storage(), &progress);
  });
}

std::vector<std::string> open_classes(const fs::path& path, const std::string& split,
                                      const std::string& label_split,
                                      const std::shared_ptr<const Storage>& storage) {
  check_folder(path, split, label_split, storage);
  const bool has_labels = is_folder(*storage, path / label_split);
  try {
    return list_classes(path / (has_labels ? label_split : split), storage);
  } catch (const base::DataError& error) {
    throw base::DataError(error.what() + what_it_is(path, storage));
  }
}

}  // namespace

std::unique_ptr<Dataset> open_image_folder(const fs::path& path, const std::string& split,
                                           const std::string& label_split,
                                           const std::shared_ptr<const Storage>& storage) {
  return open_image_folder(path, split, open_classes(path, split, label_split, storage), storage);
}

std::unique_ptr<Dataset> open_image_folder(const fs::path& path, const std::string& split,
                                           const std::vector<std::string>& classes,
                                           const std::shared_ptr<const Storage>& storage) {
  return std::make_unique<RangeDataset>(open_index(path, split, classes, storage), storage);
}

std::unique_ptr<Dataset> open(const ImageFolderConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const std::filesystem::path place = place_of(config.path, "image_folder");
  const std::string folder = folder_of(config.train_folder, config.val_folder, split);
  const std::string labels = folder_of(config.train_folder, config.val_folder, Split::kTrain);
  return open_image_folder(place, folder, labels, storage);
}

std::unique_ptr<DatasetPlan> make(const ImageFolderConfig& config) {
  return plan_of(config, photo_transforms());
}

}  // namespace paceline::data
