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

/// How a split in WebDataset's form is read.
struct WebDatasetSource {
  std::filesystem::path folder;
  std::string shards;     ///< see list_shards(); relative to the folder, or absolute
  std::string label_key;  ///< of an integer in the samples' .json; empty: the .cls is the label
  std::optional<int> classes;  ///< their number; else one more than the largest label
  std::string cache_name;      ///< of the index that is kept beside the data
};

/// Tars in which a sample is a run of members that share the name up to the first dot of its last
/// part: x.jpg (or .jpeg, .png) and x.cls, a number as text, or x.json. Groups without image and
/// label are passed over, as are names like __this__. Samples have the order of the shards. They
/// are found in one pass over the headers, in parallel over shards, and the index is kept. The
/// form: Aizman et al., "High Performance I/O For Large Scale Deep Learning", 2019;
/// github.com/webdataset.
///
/// Throws DataError that names the shard and the sample.
std::unique_ptr<Dataset> open_webdataset(
    const WebDatasetSource& source,
    const std::shared_ptr<const Storage>& storage = local_storage());

struct WebDatasetConfig {
  std::string path;
  std::string train_shards = "*train*.tar";
  std::string val_shards = "*val*.tar";
  std::string label_key;
  std::optional<int> classes;
};

/// Opens one split. Throws DataError if files are missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const WebDatasetConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const WebDatasetConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::WebDatasetConfig> {
  using Config = data::WebDatasetConfig;
  static constexpr std::string_view name = "webdataset";
  static constexpr std::string_view summary =
      "Tars in WebDataset's form, x.jpg beside x.cls or x.json, read at random places.";
  static constexpr std::string_view paper =
      "Aizman et al., High Performance I/O For Large Scale Deep Learning, 2019";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder of the shards.", Path{}, MayChangeOnResume{}),
      field(
          &Config::train_shards, "train_shards",
          "The training shards: braces as in 'train-{000000..000063}.tar', wildcards, or a folder "
          "of tars; quote braces in YAML.",
          NotEmpty{}),
      field(&Config::val_shards, "val_shards", "The validation shards, named in the same way.",
            NotEmpty{}),
      field(&Config::label_key, "label_key",
            "Key of the class's number in the samples' .json; empty: their .cls holds it."),
      field(&Config::classes, "classes",
            "Number of classes; null: one more than the split's largest label.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"})};
};
