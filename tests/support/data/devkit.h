#pragma once

#include "support/temp_folder.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace paceline::data {

/// The classes of ILSVRC2012's first four validation images in sorted order, and their numbers in
/// the kit.
inline const std::vector<std::pair<std::string, int>> kKitClasses = {
    {"n01751748", 490}, {"n02105855", 171}, {"n04263257", 822}, {"n09193705", 361}};

/// What the kit's ground truth says of the first images.
inline constexpr std::array kKitStart = {490, 361, 171, 822, 297, 482, 13, 704, 599, 164};

/// A ground truth of the form of the kit's: the first images as there, the others made up.
inline std::string kit_truth() {
  std::array<int, 1000> left;
  left.fill(50);
  std::string truth;
  const auto add = [&](int number) {
    --left[static_cast<std::size_t>(number - 1)];
    truth += std::to_string(number) + "\n";
  };
  for (const int number : kKitStart) add(number);
  for (int number = 1; number <= 1000; ++number) {
    while (left[static_cast<std::size_t>(number - 1)] > 0) add(number);
  }
  return truth;
}

/// Writes the development kit as a folder.
inline void write_kit(const test::TempFolder& folder, const std::string& truth = kit_truth()) {
  folder.write("ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt", truth);
}

}  // namespace paceline::data
