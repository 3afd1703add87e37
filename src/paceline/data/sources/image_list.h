#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace paceline::data {

struct ImageListConfig {
  std::string path = {};
  std::string root = {};
  std::optional<std::string> path_column = {};
  std::optional<std::string> label_column = {};
  std::optional<std::string> split_column = {};
  std::string val_split = {};
  std::optional<std::string> label_delimiter = {};
  std::string suffix = {};
};

/// Image files that a CSV or TSV file (see TableReader) names beside their labels, a sample for
/// each row, in the order of the rows; as fastai's ImageDataLoaders.from_csv and Kaggle's train.csv
/// have it. Samples are the files' bytes, their names the paths as they are listed.
///
/// Classes are the labels of the training rows, sorted: as numbers if all are integers, else as
/// texts. With a `label_delimiter` a row has several or none (Dataset::has_label_lists()). The list
/// is read once and its index kept beside it (see index_files()); whether an image is there shows
/// when it is read.
///
/// Throws DataError that names the file and the line, AbsentPartError where no row is of the split,
/// ConfigError without a path and for a `val_split` that the file does not have.
std::unique_ptr<Dataset> open(const ImageListConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const ImageListConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ImageListConfig> {
  using Config = data::ImageListConfig;
  static constexpr std::string_view name = "image_list";
  static constexpr std::string_view summary =
      "Image files that a CSV or TSV file names, with a label, or several, for each.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path",
            "The CSV or TSV file, whose first line names its columns; its rows have to be UTF-8.",
            Path{}, MayChangeOnResume{}),
      field(&Config::root, "root",
            "The folder that paths in the file are relative to; empty: the file's own.", Path{},
            MayChangeOnResume{}),
      field(&Config::path_column, "path_column",
            "The column of the images' paths; null: the first of path, file, filename, file_name, "
            "image and image_path that is there, else the first column with a name.",
            NotEmpty{}),
      field(&Config::label_column, "label_column",
            "The column of the labels; null: the first of label, labels, class, classes, target "
            "and tags that is there, else the next column with a name.",
            NotEmpty{}),
      field(&Config::split_column, "split_column",
            "The column that says what a row is for: train, val (or valid, validation, dev) or "
            "test; True or 1 for validation and False or 0 for training; or the number of a fold. "
            "null: the first of split, is_valid and fold, if one is there; none: no column, so "
            "that all rows are for training.",
            NotEmpty{}),
      field(&Config::val_split, "val_split",
            "The rows for validation: val, test or, of folds, a number, whose rows are not trained "
            "on; empty: val, or test where no row says val."),
      field(&Config::label_delimiter, "label_delimiter",
            "What stands between the labels of a row, as ' ' or '|' (quoted), for images of "
            "several classes or none; null: each row has one label.",
            NotEmpty{}),
      field(&Config::suffix, "suffix",
            "What the files' names have behind the paths in the file, as .jpg where it has ids.")};
};
