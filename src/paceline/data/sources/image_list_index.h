#pragma once

#include "paceline/data/index/range_index.h"
#include "paceline/data/sources/image_list.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>

namespace paceline::data {

/// Which rows of a list are its samples.
enum class ListedSamples {
  kTraining,
  kValidation,
  kValidationOrAll,  ///< all of a list that does not say what its rows are for
};

/// The samples of a list, whose place is `file`: their names are the paths of the images, with
/// lists of labels behind them where there are such (name_with_labels()), and the offsets of their
/// ranges are lines of the file. Kept beside it (see index_files()) and made anew when the file has
/// changed. Throws as open(ImageListConfig).
RangeIndex open_image_list_index(const std::filesystem::path& file, const ImageListConfig& config,
                                 ListedSamples samples,
                                 const std::shared_ptr<const Storage>& storage);

/// The folder that the list lies in.
std::filesystem::path folder_of_list(const std::filesystem::path& file);

}  // namespace paceline::data
