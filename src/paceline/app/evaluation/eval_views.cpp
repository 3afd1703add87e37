#include "paceline/app/evaluation/eval_views.h"

#include <fmt/format.h>

namespace paceline::app {

std::vector<std::string> describe(const EvalViews& views) {
  std::vector<std::string> lines;
  if (views.size)
    lines.push_back(
        fmt::format("size {0}: the network sees pieces of {0} x {0} pixels", *views.size));
  if (views.crop_pct)
    lines.push_back(fmt::format(
        "crop percentage {}: the piece is that share of the resized image's shorter side",
        *views.crop_pct));
  if (views.ten_crop)
    lines.emplace_back(
        "ten crops: an image's logits are the mean over its corners and its middle, each with its "
        "mirror image");
  else if (views.flip)
    lines.emplace_back("flip: an image's logits are the mean of its own and its mirror image's");
  if (views.shift > 0)
    lines.push_back(
        fmt::format("shift {0}: an image's logits are half its own, and a quarter each those of it "
                    "moved down and right by {0} px, and up and left, with mirrored edges",
                    views.shift));
  if (views.temperature != 1)
    lines.push_back(
        fmt::format("temperature {0}: logits are divided by {0}, which changes loss, probabilities "
                    "and calibration, and not what is told",
                    views.temperature));
  if (!views.class_map.empty())
    lines.push_back(
        fmt::format("class map {}: only the classes of the data compete, the logits of "
                    "the model's others are left out; a class that is several of the model's has "
                    "the mean of their probabilities",
                    views.class_map.string()));
  return lines;
}

}  // namespace paceline::app
