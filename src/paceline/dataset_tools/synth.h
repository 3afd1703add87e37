#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace paceline::dataset_tools {

/// What the pictures of a synthetic set are like.
enum class SynthKind {
  kShapes,    ///< small, of the sizes and the quality that the options say
  kImagenet,  ///< as ImageNet's: sizes, bytes and coefficients of its files (see PhotoPlan)
  kDigits,    ///< digits as if drawn by hand (see synthesize_digit)
};

/// What synthesize_image_folder writes.
struct SynthOptions {
  std::string path;
  SynthKind kind = SynthKind::kShapes;
  int classes = 10;  ///< at most kMaxSynthClasses, of digits kNumDigits
  int train_per_class = 200;
  int val_per_class = 50;
  std::uint64_t seed = 1;
  int min_size = 72;   ///< of either side, in pixels; this and what follows of kShapes alone
  int max_size = 144;  ///< at most kMaxSynthSize
  int quality = 90;    ///< of the JPEG files
};

/// Of a side: a picture is drawn in memory, several at a time.
inline constexpr int kMaxSynthSize = 8192;
inline constexpr int kMaxSynthImagesPerClass = 10'000'000;

/// Eight shapes in six textures.
inline constexpr int kMaxSynthClasses = 48;

/// Called after every file with the number of files written so far and of all; from any thread, one
/// at a time.
using SynthProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Writes an image folder of textured shapes on cluttered backgrounds: train/<class>/*.jpg and
/// val/<class>/*.jpg. A class is a pair of shape and texture; colours, sizes, places, turns and
/// aspect ratios are drawn anew for each image, so that mean colours tell nothing about the class.
/// Of kDigits a class is a digit. The files are a function of the options alone. The folder appears
/// at `path` when it is complete. Returns false when `path` holds this very set already. Throws
/// ConfigError for options that make no sense or a folder that holds anything else, DataError when
/// a file cannot be written.
bool synthesize_image_folder(
    const SynthOptions& options, int num_threads = 0, const SynthProgress& progress = {},
    const std::shared_ptr<base::FileSystem>& files = std::make_shared<base::RealFileSystem>());

/// "<texture>_<shape>" of class `class_index`, of kDigits the digit.
std::string synth_class_name(SynthKind kind, int class_index);

/// Image number `index` of a class of kShapes, before it is compressed; `index` counts training
/// images first, then those of val.
data::Image synthesize_image(const SynthOptions& options, int class_index, std::int64_t index);

}  // namespace paceline::dataset_tools
