#pragma once

#include "support/data/tar_files.h"
#include "support/data/test_images.h"
#include "support/temp_folder.h"

#include <string>

namespace paceline::data {

/// Four classes of the golden meta.mat in sorted order, and their numbers in the kit.
inline const std::vector<std::pair<std::string, int>> kKitClasses = {
    {"n01440764", 3}, {"n02100735", 2}, {"n02119789", 1}, {"n04254777", 4}};

inline std::string golden_meta() {
  const auto bytes = read_bytes(std::filesystem::path(PACELINE_SOURCE_DIR) /
                                "tests/golden/data/imagenet/meta_compressed.mat");
  return {bytes.begin(), bytes.end()};
}

/// Writes the development kit as a folder; `truth` is the class number of each image.
inline void write_kit(const test::TempFolder& folder, const std::string& truth) {
  folder.write("ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt", truth);
  folder.write("ILSVRC2012_devkit_t12/data/meta.mat", golden_meta());
}

}  // namespace paceline::data
