// Microseconds that each image operation takes on 224 x 224 pixels: image_ops [REPETITIONS
// [OPERATION]]
//
// From raw pixels to raw pixels on one thread, without what copying them costs ("copy"); the best
// of the repetitions. Prints one {"operation": ..., "us": ...} a line.

#include "paceline/data/transforms/augment.h"
#include "paceline/data/transforms/named/color/color_jitter.h"
#include "paceline/data/transforms/named/color/gaussian_blur.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_perspective.h"
#include "paceline/data/transforms/named/policies/augmix.h"
#include "paceline/data/transforms/named/policies/auto_augment.h"
#include "paceline/data/transforms/named/policies/rand_augment.h"
#include "paceline/data/transforms/named/policies/three_augment.h"
#include "paceline/data/transforms/named/policies/timm_rand_augment.h"
#include "paceline/data/transforms/named/policies/trivial_augment_wide.h"
#include "paceline/data/transforms/normalize.h"
#include "paceline/data/transforms/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace pl = paceline::data;

namespace {

constexpr int kSide = 224;
constexpr pl::ImageSize kSize = {kSide, kSide};

pl::StoredSample picture() {
  pl::StoredSample sample;
  sample.width = sample.height = kSide;
  paceline::base::Philox draws(1, paceline::base::DrawPurpose::kTest, 0, 0);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      for (const int base : {x, y, (x + y) / 2}) {
        sample.bytes.push_back(static_cast<std::uint8_t>(base + static_cast<int>(draws.below(31))));
      }
    }
  }
  return sample;
}

/// The mean over indices below `count` of the best of `repetitions` calls of run(index).
double microseconds(int repetitions, int count, const std::function<void(int)>& run) {
  std::vector<double> best(static_cast<std::size_t>(count), 1e9);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (int index = 0; index < count; ++index) {
      const auto begin = std::chrono::steady_clock::now();
      run(index);
      const std::chrono::duration<double, std::micro> elapsed =
          std::chrono::steady_clock::now() - begin;
      double& least = best[static_cast<std::size_t>(index)];
      least = std::min(least, elapsed.count());
    }
  }
  return std::accumulate(best.begin(), best.end(), 0.0) / count;
}

void report(const std::string& operation, double us) {
  std::printf("{\"operation\": \"%s\", \"us\": %.1f}\n", operation.c_str(), us);
}

class Bench {
 public:
  /// With `only` empty all operations run.
  Bench(int repetitions, std::string only) : repetitions_(repetitions), only_(std::move(only)) {
    copy_us_ = time_plan({});
    if (is_wanted("copy")) report("copy", copy_us_);
  }

  void run_plan(const std::string& name, const pl::Plan& plan) {
    if (is_wanted(name)) report(name, time_plan(plan) - copy_us_);
  }

  /// Over many draws.
  void run_transform(const std::string& name, const pl::TransformConfig& transform) {
    if (!is_wanted(name)) return;
    const pl::TransformPipeline pipeline({pl::CenterCropConfig{kSide}, transform});
    const double us = microseconds(repetitions_, 500, [&](int index) {
      const auto position = static_cast<std::uint64_t>(index);
      if (!pipeline.run(sample_, {1, 0, position}, scratch_, pl::ByteSink{bytes_.data()}).empty())
        std::abort();
    });
    report(name, us - copy_us_);
  }

  void run_floats(const std::string& name, pl::PixelLayout layout, const pl::Plan& plan) {
    if (!is_wanted(name)) return;
    const pl::TransformPipeline pipeline({pl::CenterCropConfig{kSide}, pl::NormalizeConfig{}});
    report(name, microseconds(repetitions_, 20, [&](int) {
             pipeline.apply(sample_, plan, scratch_, pl::PixelSink{floats_.data(), layout});
           }));
  }

 private:
  bool is_wanted(const std::string& name) const { return only_.empty() || only_ == name; }
  double time_plan(const pl::Plan& plan) {
    return microseconds(repetitions_, 20, [&](int) {
      if (!plain_.apply(sample_, plan, scratch_, pl::ByteSink{bytes_.data()}).empty()) std::abort();
    });
  }

  int repetitions_;
  std::string only_;
  pl::StoredSample sample_ = picture();
  pl::TransformPipeline plain_{{pl::CenterCropConfig{kSide}}};
  pl::TransformScratch scratch_;
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(std::size_t{3} * kSide * kSide);
  std::vector<float> floats_ = std::vector<float>(std::size_t{3} * kSide * kSide);
  double copy_us_ = 0.0;
};

pl::Plan augment_plan(pl::AugmentOp op, double magnitude,
                      pl::AffineInterpolation interpolation = pl::AffineInterpolation::kNearest) {
  pl::Plan plan;
  pl::append_augment(op, magnitude, kSize, interpolation, {0, 0, 0}, plan);
  return plan;
}

void run(int repetitions, const std::string& only) {
  using enum pl::AugmentOp;
  constexpr auto kBilinear = pl::AffineInterpolation::kBilinear;
  Bench bench(repetitions, only);
  bench.run_plan("brightness", augment_plan(kBrightness, 0.27));
  bench.run_plan("contrast", augment_plan(kContrast, 0.27));
  bench.run_plan("saturation", augment_plan(kColor, 0.27));
  bench.run_plan("hue", {pl::HueStep{0.07}});
  bench.run_plan("sharpness", augment_plan(kSharpness, 0.27));
  bench.run_plan("posterize", augment_plan(kPosterize, 5));
  bench.run_plan("solarize", augment_plan(kSolarize, 178.5));
  bench.run_plan("autocontrast", augment_plan(kAutoContrast, 0));
  bench.run_plan("equalize", augment_plan(kEqualize, 0));
  bench.run_plan("vertical flip", {pl::VerticalFlipStep{}});
  bench.run_plan("translate", augment_plan(kTranslateX, 30));
  bench.run_plan("shear x nearest", augment_plan(kShearX, 0.09));
  bench.run_plan("shear y nearest", augment_plan(kShearY, 0.09));
  bench.run_plan("rotate nearest", augment_plan(kRotate, 9));
  bench.run_plan("shear x bilinear", augment_plan(kShearX, 0.09, kBilinear));
  bench.run_plan("rotate bilinear", augment_plan(kRotate, 9, kBilinear));
  bench.run_plan("rotate bicubic", augment_plan(kRotate, 9, pl::AffineInterpolation::kBicubic));
  bench.run_plan("box blur of 2 pixels", {pl::BoxBlurStep{2.0f}});
  bench.run_plan("brightness, solarize, posterize, contrast",
                 {pl::BrightnessStep{1.2f}, pl::SolarizeStep{170}, pl::PosterizeStep{6},
                  pl::ContrastStep{0.8f}});
  bench.run_transform("color_jitter(0.4, 0.4, 0.4, 0.1)",
                      pl::ColorJitterConfig{0.4, 0.4, 0.4, 0.1});
  bench.run_transform("rand_augment(2, 9)", pl::RandAugmentConfig{});
  bench.run_transform("timm_rand_augment(rand-m9-mstd0.5-inc1)", pl::TimmRandAugmentConfig{});
  bench.run_transform("augmix", pl::AugMixConfig{});
  bench.run_transform("three_augment", pl::ThreeAugmentConfig{});
  bench.run_transform("gaussian_blur(9)", pl::GaussianBlurConfig{});
  bench.run_transform("gaussian_blur(23)", pl::GaussianBlurConfig{.kernel_size = 23});
  bench.run_transform("random_perspective", pl::RandomPerspectiveConfig{.p = 1});
  bench.run_transform(
      "random_perspective, nearest",
      pl::RandomPerspectiveConfig{.p = 1, .interpolation = pl::AffineInterpolation::kNearest});
  bench.run_transform("trivial_augment_wide", pl::TrivialAugmentWideConfig{});
  bench.run_transform("auto_augment(imagenet)", pl::AutoAugmentConfig{});
  bench.run_floats("normalised floats", pl::PixelLayout::kChannelsLast, {});
  bench.run_floats("normalised floats, mirrored", pl::PixelLayout::kChannelsLast, {pl::FlipStep{}});
  bench.run_floats("normalised floats, planes", pl::PixelLayout::kPlanar, {});
}

}  // namespace

int main(int argc, char** argv) try {
  run(argc > 1 ? std::atoi(argv[1]) : 20, argc > 2 ? argv[2] : "");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
