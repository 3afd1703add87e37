#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// How an evaluation looks at images otherwise than the recipe says.
struct EvalViews {
  std::optional<int> size = std::nullopt;         ///< side of the piece that the network sees
  std::optional<double> crop_pct = std::nullopt;  ///< of the shorter side that the piece takes
  bool flip = false;                              ///< the mean of the image and its mirror image
  bool ten_crop = false;  ///< the mean of the corners and the middle, each with its mirror image
  int shift = 0;  ///< pixels: half the image, half the mean of it moved so far both ways; 0: not
  double temperature = 1;
  std::filesystem::path class_map = {};  ///< see read_class_map(); empty: none

  /// Whether logits are made of others than one pass over an image.
  bool change_logits() const {
    return flip || ten_crop || shift > 0 || temperature != 1 || !class_map.empty();
  }
};

/// What each of them means, in words.
std::vector<std::string> describe(const EvalViews& views);

}  // namespace paceline::app
