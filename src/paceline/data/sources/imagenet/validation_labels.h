#pragma once

#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// The class of each validation image of ILSVRC2012, by the number in the image's name: a WordNet
/// id as n01440764, or the class's place in the sorted ids, counted from 0.
using ValidationLabels = std::map<std::int64_t, std::string>;

/// The first that is there, relative to `folder`: ILSVRC2012_devkit_t12 (a folder, or .tar.gz),
/// LOC_val_solution.csv, val_labels.txt, val.txt. Empty if none is.
std::filesystem::path find_validation_labels(const std::filesystem::path& folder,
                                             const Storage& storage);

/// The files that read_validation_labels() reads.
std::vector<std::filesystem::path> validation_label_files(const std::filesystem::path& source,
                                                          const Storage& storage);

/// Reads labels from the development kit, extracted or as archive; from Kaggle's
/// LOC_val_solution.csv; or from a text file of two columns: an image's name and its class, parted
/// by blanks, tabs or commas. The kit counts classes in an order of its own (kit_classes.h), so
/// only the published one is taken. Throws DataError that names the file and line.
ValidationLabels read_validation_labels(const std::filesystem::path& source,
                                        const Storage& storage);

/// 293 of "val/ILSVRC2012_val_00000293.JPEG": the digits that end the name before its last dot.
std::optional<std::int64_t> number_in_name(std::string_view name);

}  // namespace paceline::data
