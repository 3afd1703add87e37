#pragma once

#include "paceline/data/dataset/dataset.h"

#include <filesystem>
#include <memory>
#include <optional>

namespace paceline::data {

/// Images in a .npy of uint8, [N, H, W, 3], [N, 3, H, W] or grey [N, H, W]; where two would fit,
/// the first. Labels in another, [N], of any integers. The images are mapped, not read.
/// `num_classes` is by default one more than the largest label. Throws DataError that names the
/// file.
std::unique_ptr<Dataset> open_npy_dataset(const std::filesystem::path& images,
                                          const std::filesystem::path& labels,
                                          std::optional<int> num_classes);

}  // namespace paceline::data
