#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Images in a .npy of uint8, [N, H, W, 3], [N, 3, H, W] or grey [N, H, W]; where two would fit,
/// the first. Labels in another, [N], of any integers. The images are mapped, not read.
/// `num_classes` is by default one more than the largest label. Throws DataError that names the
/// file.
std::unique_ptr<Dataset> open_npy_dataset(const std::filesystem::path& images,
                                          const std::filesystem::path& labels,
                                          std::optional<int> num_classes);

struct NpyConfig {
  std::string path;
  std::string train_images = "train_images.npy";
  std::string train_labels = "train_labels.npy";
  std::string val_images = "val_images.npy";
  std::string val_labels = "val_labels.npy";
  std::optional<int> classes;
};

/// Opens one split; remote files are copied to this machine first. Throws DataError if files are
/// missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const NpyConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const NpyConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::NpyConfig> {
  using Config = data::NpyConfig;
  static constexpr std::string_view name = "npy";
  static constexpr std::string_view summary =
      "NumPy's arrays of uint8 images and integer labels, mapped into memory.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder of the .npy files.", Path{}, MayChangeOnResume{}),
      field(&Config::train_images, "train_images",
            "Training images: (N, H, W, 3), (N, 3, H, W) or (N, H, W).", NotEmpty{}),
      field(&Config::train_labels, "train_labels", "Training labels: (N).", NotEmpty{}),
      field(&Config::val_images, "val_images", "Validation images.", NotEmpty{}),
      field(&Config::val_labels, "val_labels", "Validation labels.", NotEmpty{}),
      field(&Config::classes, "classes",
            "Number of classes; null: one more than the split's largest label.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"})};
};
