#pragma once

#include "paceline/data/index/listing_progress.h"
#include "paceline/data/index/range_index.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::data {

/// Lists `root`/<class>/**, on `num_threads` threads (0: all cores): an index of whole files whose
/// names are their paths below the class's folder. Order and labels are those of torchvision's
/// ImageFolder: classes by name; within one, folders by path, then files by name, each compared
/// byte by byte. Files with an image's name (see is_image_name()) are samples; what is left out are
/// files with other names, unless they are hidden, and links to nothing. The fingerprint is that of
/// the relative paths, file sizes and labels.
///
/// A class of `classes` without a folder has no samples; a folder that is not in `classes`, or
/// holds no samples, is a DataError that names it, as are folders that are nested too deep.
/// Symbolic links are followed. Throws Interrupted, too. `progress`: of the storage otherwise.
RangeIndex list_image_folder(const std::filesystem::path& root,
                             const std::vector<std::string>& classes, int num_threads = 0,
                             const std::shared_ptr<const Storage>& storage = local_storage(),
                             ListingProgress* progress = nullptr);

/// What list_image_folder() gave, saved in `file`; nothing if there is none, it is of another
/// version or damaged, or a folder of `root` or `classes` has changed since. Replacing a file's
/// content under its old name goes unnoticed, and so do all changes of remote folders.
std::optional<RangeIndex> load_image_folder(const std::filesystem::path& file,
                                            const std::filesystem::path& root,
                                            const std::vector<std::string>& classes);

/// Whether a file is taken for an image: its name ends in .jpg, .jpeg, .png, .webp, .bmp, .tif,
/// .tiff, .ppm or .pgm in upper or lower case, as torchvision has it.
bool is_image_name(std::string name);

/// The names of the folders in `root`, sorted: the classes. Throws DataError that says what was
/// expected if there are none.
std::vector<std::string> list_classes(
    const std::filesystem::path& root,
    const std::shared_ptr<const Storage>& storage = local_storage());

}  // namespace paceline::data
