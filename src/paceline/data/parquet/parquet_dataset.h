#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/remote/parquet_file.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

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
/// Texts as labels are the classes' names, sorted. A sample's name is the image's `path`.
///
/// Where the pages of images lie is found once, and the index is kept. The first image of a page is
/// read with the whole page; from then on, in pages that are not compressed or by Snappy, each is
/// read alone unless the page is among those used last. Needs the plug-in of remote_plugin.h.
///
/// Throws DataError that names the file and the row.
std::unique_ptr<Dataset> open_parquet(
    const ParquetSource& source, const std::shared_ptr<const Storage>& storage = local_storage());

}  // namespace paceline::data
