#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

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

}  // namespace paceline::data
