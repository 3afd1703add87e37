#pragma once

#include "paceline/config/duration.h"
#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace paceline::app {

/// How sizes follow the run.
enum class ResizingLaw {
  kLine,      ///< start_size and increments more, each at the step at which the line is as high
  kComposer,  ///< in each step the multiple of increment that is nearest to the line
  kFfcv,      ///< the same once an epoch, and the exact size from `end` on
};

/// What makes images small.
enum class ResizingMode {
  kLoader,   ///< draws crops at that size, and so gets faster too
  kNearest,  ///< Composer's ProgressiveResizing(mode="resize"): whole microbatches, after the
             ///< loader
  kCrop,     ///< its mode="crop": one piece of all images of a microbatch
};

/// Training on small images first (Howard, fast.ai 2018; Composer's ProgressiveResizing; FFCV's
/// ramp).
struct ProgressiveResizing {
  std::optional<double> start_size;  ///< whole, but for kComposer
  config::Duration begin{0.5, config::TimeUnit::kFraction};
  config::Duration end{0.8, config::TimeUnit::kFraction};
  int increment = 32;
  ResizingLaw law = ResizingLaw::kLine;
  ResizingMode mode = ResizingMode::kLoader;

  /// Whether microbatches are changed, and not what the loader draws.
  bool is_after_loader() const { return start_size && mode != ResizingMode::kLoader; }
};

/// From optimizer step `first_step` on, the shorter side of training images has `size` pixels.
struct SizeChange {
  std::int64_t first_step = 0;
  int size = 0;
};

/// The sizes of a run, the first one from step 0 on: they follow the straight line from start_size
/// at `begin` to image_size at `end` by the law. Composer's and FFCV's round halves to even. Empty
/// when start_size is not set. Throws ConfigError for numbers that make no such line.
std::vector<SizeChange> size_changes(const ProgressiveResizing& config, int image_size,
                                     const config::StepLengths& lengths);

/// The same transforms for images of another size: random_resized_crop's is changed. Throws
/// ConfigError unless there is one, and nothing else that gives images a size.
std::vector<data::TransformConfig> with_size(std::vector<data::TransformConfig> transforms,
                                             const config::Sides& size);

/// The size of images whose shorter side is `shorter` and whose ratio is that of `size`; the longer
/// side is rounded to the nearest pixel.
config::Sides grown_to(data::ImageSize size, int shorter);

}  // namespace paceline::app

template <>
struct paceline::config::EnumNames<paceline::app::ResizingLaw> {
  using Law = paceline::app::ResizingLaw;
  static constexpr std::array names{EnumName{Law::kLine, "line"},
                                    EnumName{Law::kComposer, "composer"},
                                    EnumName{Law::kFfcv, "ffcv"}};
};

template <>
struct paceline::config::EnumNames<paceline::app::ResizingMode> {
  using Mode = paceline::app::ResizingMode;
  static constexpr std::array names{EnumName{Mode::kLoader, "loader"},
                                    EnumName{Mode::kNearest, "nearest"},
                                    EnumName{Mode::kCrop, "crop"}};
};

template <>
struct paceline::config::Schema<paceline::app::ProgressiveResizing> {
  using Config = app::ProgressiveResizing;
  static constexpr std::string_view name = "progressive_resizing";
  static constexpr std::string_view summary =
      "Small training images at first, which are faster to make and to train on.";
  static constexpr std::string_view paper =
      "Howard, Training Imagenet in 3 hours for $25, fast.ai 2018";
  static constexpr auto fields =
      std::tuple{field(&Config::start_size, "start_size",
                       "Shorter side in pixels at the start; null: no resizing. For law: composer "
                       "where its line begins, which may be between two pixels.",
                       AtLeast{1}, AtMost{16384, "no image has a longer side"}),
                 field(&Config::begin, "begin", "When the images begin to grow."),
                 field(&Config::end, "end", "When they have reached data.image_size."),
                 field(&Config::increment, "increment", "By how many pixels they grow at a time.",
                       AtLeast{1}, AtMost{16384, "no image has a longer side"}),
                 field(&Config::law, "law",
                       "line: grow by an increment whenever the line to the final size allows; "
                       "composer: the multiple of increment nearest to it, in each step; ffcv: the "
                       "same once an epoch."),
                 field(&Config::mode, "mode",
                       "loader: it draws random_resized_crop at the size; nearest, crop: it draws "
                       "images of full size, and of each microbatch the nearest pixels are taken, "
                       "or one piece at a drawn place, as Composer's ProgressiveResizing does.")};
  static void validate(const Config& values, Problems& problems);
};
