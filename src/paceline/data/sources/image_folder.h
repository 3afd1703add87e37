#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// Image files (see is_image_name()) in one folder per class, `path`/`split`/<class>/**, with
/// torchvision's ImageFolder's order and labels (see list_image_folder()). Samples are the files'
/// bytes.
///
/// Labels follow the class folders of `label_split`, usually the training split, so that a
/// validation split which lacks a class keeps the others' labels. The list of files is kept (see
/// index_files()) and made anew when a folder has changed; that of remote files at each start,
/// by one of the processes of a machine that start together.
///
/// Throws DataError that names the folder and what was expected there.
std::unique_ptr<Dataset> open_image_folder(
    const std::filesystem::path& path, const std::string& split, const std::string& label_split,
    const std::shared_ptr<const Storage>& storage = local_storage());
/// The same with given classes, in sorted order.
std::unique_ptr<Dataset> open_image_folder(
    const std::filesystem::path& path, const std::string& split,
    const std::vector<std::string>& classes,
    const std::shared_ptr<const Storage>& storage = local_storage());

struct ImageFolderConfig {
  std::string path;
  std::string train_folder = "train";
  std::string val_folder = "val";
};

/// Opens one split. Throws DataError if files are missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const ImageFolderConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const ImageFolderConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ImageFolderConfig> {
  using Config = data::ImageFolderConfig;
  static constexpr std::string_view name = "image_folder";
  static constexpr std::string_view summary =
      "JPEG and PNG files in one folder per class, path/train/<class>/ and path/val/<class>/.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder that holds the training and validation folders.",
            Path{}, MayChangeOnResume{}),
      field(&Config::train_folder, "train_folder",
            "Name of the training folder; '.': classes lie in path itself."),
      field(&Config::val_folder, "val_folder", "Name of the validation folder.")};
};
