#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/storage/storage.h"
#include "paceline/data/transforms/named/presets.h"
#include "paceline/data/transforms/transform.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace paceline::data {

class SampleMaker;  // loader/sample_maker.h

/// A data set before it is opened: its splits and the usual transforms of its images; where those
/// are empty, its samples are none.
struct DatasetPlan {
  /// `val_path`: where the validation part lies, if not where the recipe's path says. Throws
  /// DataError.
  std::function<std::unique_ptr<Dataset>(Split split, const std::shared_ptr<const Storage>& storage,
                                         const std::optional<std::string>& val_path)>
      open;
  int default_image_size = 224;
  std::function<std::vector<TransformConfig>(const config::Sides& image_size,
                                             Augmentation augmentation)>
      train_transforms;
  std::function<std::vector<TransformConfig>(const config::Sides& image_size)> eval_transforms;
  /// Throws ConfigError if the recipe does not say where the data are; opens nothing.
  std::function<void()> check_place = [] {};
  /// Looks at samples of these splits before the first step, on one rank. Throws DataError for some
  /// that are not what they are taken for; empty: there is nothing that could be wrong so.
  std::function<void(std::span<const Split> splits, const std::shared_ptr<const Storage>& storage,
                     const std::optional<std::string>& val_path)>
      check_samples = {};
  /// What makes samples that are no labelled images, for which a recipe's transforms have no say;
  /// empty: they are. The data set outlives the maker.
  std::function<std::shared_ptr<const SampleMaker>(const Dataset& dataset, Split split)>
      make_samples = {};
  /// Whether only the open data set says what its samples are: Dataset::stored_fields().
  bool may_store_fields = false;
};

/// The transforms that a data set's images usually get, by the size that a recipe asks for.
struct UsualTransforms {
  int default_image_size = 224;
  std::function<std::vector<TransformConfig>(const config::Sides& image_size,
                                             Augmentation augmentation)>
      train;
  std::function<std::vector<TransformConfig>(const config::Sides& image_size)> eval;
};

/// ImageNet's, whose ratio of resize to crop stays at other sizes than 224. To sizes that are not
/// square images are resized whatever their ratio is.
UsualTransforms photo_transforms();
/// CIFAR's; at other sizes than theirs the images are scaled first, as when a ViT for 224 pixels is
/// trained.
UsualTransforms small_image_transforms(int default_image_size);
/// MNIST's.
UsualTransforms digit_transforms();

/// The data set with its validation part at `val_path`, if it has a path. Throws ConfigError,
/// DataError.
template <class Config>
Config with_val_path(Config config, const std::string& val_path, const Storage& storage) {
  if constexpr (requires { config.path; }) {
    require_val_path(val_path);
    config.path = val_path;
  } else {
    refuse_val_path(config::Schema<Config>::name);
  }
  if constexpr (requires { config.val_folder; }) {
    config.val_folder = val_folder_at(val_path, config.train_folder, config.val_folder, storage);
    config.train_folder = config.val_folder;  // whose classes count: others go by their names
  }
  return config;
}

/// The plan of a data set of labelled images that open(config, split, storage) opens, where a
/// Config with a `path` needs it. What a data set's make() returns.
template <class Config>
std::unique_ptr<DatasetPlan> plan_of(const Config& config, UsualTransforms transforms) {
  auto plan = std::make_unique<DatasetPlan>();
  plan->open = [config](Split split, const std::shared_ptr<const Storage>& storage,
                        const std::optional<std::string>& val_path) -> std::unique_ptr<Dataset> {
    if (split == Split::kVal && val_path)
      return open(with_val_path(config, *val_path, *storage), split, storage);
    return open(config, split, storage);
  };
  plan->default_image_size = transforms.default_image_size;
  plan->train_transforms = std::move(transforms.train);
  plan->eval_transforms = std::move(transforms.eval);
  if constexpr (requires { config.path; })
    plan->check_place = [path = config.path] { require_path(path, config::Schema<Config>::name); };
  return plan;
}

}  // namespace paceline::data
