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

namespace paceline::data {

/// ILSVRC2012 (ImageNet-1k) in the forms in which it is published, read in place. Training images:
/// ILSVRC2012_img_train.tar with its tars of classes; a folder (ILSVRC2012_img_train, train or
/// `folder` itself) of these tars, nXXXXXXXX.tar; or folders of classes, as Kaggle's
/// ILSVRC/Data/CLS-LOC/train. Validation images: ILSVRC2012_img_val.tar; a folder of all of them,
/// as Kaggle's ILSVRC/Data/CLS-LOC/val; or one that is sorted into folders of classes.
///
/// `val_labels` names the file or folder of their labels (see read_validation_labels()), relative
/// to `folder` or absolute; empty: what find_validation_labels() finds. Labels are places in the
/// sorted WordNet ids of the training data, or of the labels where that is not there. Samples are
/// ordered by label, then name: as image_folder would have them if all were extracted.
///
/// Throws DataError that says what was looked for, or names what is damaged.
std::unique_ptr<Dataset> open_ilsvrc2012(
    const std::filesystem::path& folder, const std::filesystem::path& val_labels, bool is_training,
    const std::shared_ptr<const Storage>& storage = local_storage());

struct Ilsvrc2012Config {
  std::string path;
  std::string val_labels;
};

/// Opens one split. Throws DataError if files are missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const Ilsvrc2012Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const Ilsvrc2012Config& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::Ilsvrc2012Config> {
  using Config = data::Ilsvrc2012Config;
  static constexpr std::string_view name = "ilsvrc2012";
  static constexpr std::string_view summary =
      "ImageNet-1k as published: the train and validation tars, read in place, or Kaggle's "
      "folders.";
  static constexpr std::string_view paper =
      "Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path",
            "The folder of ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar, of a folder train/ "
            "of class tars, or of Kaggle's ILSVRC/.",
            Path{}, MayChangeOnResume{}),
      field(&Config::val_labels, "val_labels",
            "Where the classes of the validation images stand: the development kit (folder or "
            ".tar.gz), LOC_val_solution.csv or a text file of names and classes; empty: what of "
            "these is in path.",
            Path{}, MayChangeOnResume{})};
};
