#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset.h"

#include <cstdint>
#include <functional>
#include <string>

namespace paceline::data {

/// What synthesize_image_folder writes.
struct SynthOptions {
  std::string path;
  int classes = 10;  ///< at most kMaxSynthClasses
  int train_per_class = 200;
  int val_per_class = 50;
  int min_size = 72;  ///< of either side, in pixels
  int max_size = 144;
  int quality = 90;  ///< of the JPEG files
  std::uint64_t seed = 1;
};

/// Eight shapes in six textures.
inline constexpr int kMaxSynthClasses = 48;

/// Called after every file with the number of files written so far and of all; from any thread, one
/// at a time.
using SynthProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Writes an image folder of textured shapes on cluttered backgrounds: train/<class>/*.jpg and
/// val/<class>/*.jpg. A class is a pair of shape and texture; colours, sizes, places, turns and
/// aspect ratios are drawn anew for each image, so that mean colours tell nothing about the class.
/// The files are a function of the options alone. The folder appears at `path` when it is complete.
/// Returns false when `path` holds this very set already. Throws ConfigError for options that make
/// no sense or a folder that holds anything else, DataError when a file cannot be written.
bool synthesize_image_folder(const SynthOptions& options, int num_threads = 0,
                             const SynthProgress& progress = {});

/// "<texture>_<shape>" of class `class_index`.
std::string synth_class_name(int class_index);

/// Image number `index` of a class, before it is compressed; `index` counts training images first,
/// then those of val.
Image synthesize_image(const SynthOptions& options, int class_index, std::int64_t index);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::SynthOptions> {
  using SynthOptions = data::SynthOptions;
  static constexpr std::string_view name = "synth";
  static constexpr std::string_view summary =
      "An image folder of textured shapes, to try and test training with.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&SynthOptions::path, "path", "The folder to write; must be absent or empty."),
      field(&SynthOptions::classes, "classes", "Number of classes.", InRange{1.0, 48.0}),
      field(&SynthOptions::train_per_class, "train_per_class", "Training images per class.",
            AtLeast{1.0}),
      field(&SynthOptions::val_per_class, "val_per_class", "Validation images per class.",
            AtLeast{1.0}),
      field(&SynthOptions::min_size, "min_size", "Shortest side in pixels.", InRange{16.0, 4096.0}),
      field(&SynthOptions::max_size, "max_size", "Longest side in pixels.", InRange{16.0, 4096.0}),
      field(&SynthOptions::quality, "quality", "JPEG quality.", InRange{1.0, 100.0}),
      field(&SynthOptions::seed, "seed", "Two seeds give two sets of images.")};
};
