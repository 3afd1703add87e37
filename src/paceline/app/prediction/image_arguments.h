#pragma once

#include <span>
#include <string>
#include <vector>

namespace paceline::app {

/// Words of a command line that may be both.
struct ImageArguments {
  std::vector<std::string> images;  ///< files, folders and patterns
  std::vector<std::string> overrides;
};

/// Tells overrides of a recipe from images. What is there on the disk is an image; else an override
/// changes a section of the recipe (section.key=value, +section.key=value, ~section.key), or has a
/// '=' and no image's name.
ImageArguments tell_images_from_overrides(std::span<const std::string> words);

}  // namespace paceline::app
