#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/remote/parquet_file.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// How a split in Parquet files is read.
struct ParquetSource {
  std::filesystem::path folder;
  std::string files;        ///< by braces and wildcards (* ? [...]; sorted), relative to the folder
  std::string class_files;  ///< of the training split, whose texts as labels give the classes
  ParquetColumns columns;
  std::optional<int> classes;  ///< their number; else what the files say, see open_parquet()
  std::string cache_name;      ///< of the index that is kept beside the data
  std::size_t cached_bytes = std::size_t{64} << 20;  ///< of pages in memory
};

/// Parquet files of images and labels, as Hugging Face keeps them. Samples have the order of the
/// files' rows. Integers as labels are the classes' numbers; the classes' names stand in the
/// metadata of Hugging Face's writer, or else their number is one more than the largest label.
/// Texts as labels are the classes' names, sorted. Lists of either are the classes of samples that
/// have several (Dataset::has_label_lists()). A sample's name is the image's `path`.
///
/// Where the pages of images lie is found once, and the index is kept. The first image of a page is
/// read with the whole page; from then on, in pages that are not compressed or by Snappy, each is
/// read alone unless the page is among those used last. Needs the plug-in of remote_plugin.h.
///
/// Throws DataError that names the file and the row.
std::unique_ptr<Dataset> open_parquet(
    const ParquetSource& source, const std::shared_ptr<const Storage>& storage = local_storage());

struct ParquetConfig {
  std::string path;
  std::string train_files = "{data/,}train-*.parquet";
  std::string val_files = "{data/,}validation-*.parquet";
  std::string image_column = "image";
  std::string label_column = "label";
  std::optional<int> classes;
};

/// Opens one split. Throws DataError if files are missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const ParquetConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const ParquetConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ParquetConfig> {
  using Config = data::ParquetConfig;
  static constexpr std::string_view name = "parquet";
  static constexpr std::string_view summary =
      "Parquet files of images and labels, as Hugging Face keeps them, read at random places.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder of the files, as /data/x or hf:owner/name.", Path{},
            MayChangeOnResume{}),
      field(&Config::train_files, "train_files",
            "The training files: wildcards, braces as in 'train-{00000..00293}-of-00294.parquet', "
            "or both; quote them in YAML. Files named by braces alone must all be there.",
            NotEmpty{}),
      field(&Config::val_files, "val_files", "The validation files, named in the same way.",
            NotEmpty{}),
      field(&Config::image_column, "image_column",
            "The column of the images' bytes: binary, or a struct with a part `bytes`. Without one "
            "called image it is the only struct with parts `bytes` and `path`.",
            NotEmpty{}),
      field(&Config::label_column, "label_column",
            "The column of the labels: integers from 0, or the classes' names, or lists of either "
            "for samples of several classes. Without one called "
            "label it is the only ClassLabel that Hugging Face's writer tells of, or the only one "
            "of labels, fine_label, class, target and cls.",
            NotEmpty{}),
      field(&Config::classes, "classes",
            "Number of classes; null: as many as the files name, or one more than the split's "
            "largest label.",
            AtLeast{1}, AtMost{10'000'000, "no classifier has more outputs"})};
};
