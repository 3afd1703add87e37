#include "paceline/data/transforms/lazy_image.h"

#include "paceline/data/transforms/kernels/perspective_matrix.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/normalize.h"
#include "support/data/augment_names.h"
#include "support/data/composer_names.h"
#include "support/data/test_images.h"
#include "support/data/timm_names.h"

#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// One line of cases.tsv, or of another table of its form.
struct GoldenCase {
  std::string file;
  std::string normalization;
  std::string steps;
  ImageSize size;
  std::string hash;
};

void read_cases(const std::string& name, std::vector<GoldenCase>& cases) {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/" + name);
  std::string height;
  std::string width;
  GoldenCase next;
  while (std::getline(table, next.file, '\t') && std::getline(table, next.normalization, '\t') &&
         std::getline(table, next.steps, '\t') && std::getline(table, height, '\t') &&
         std::getline(table, width, '\t') && std::getline(table, next.hash)) {
    next.size = {std::stoi(height), std::stoi(width)};
    cases.push_back(next);
  }
}

NormalizeTable table_named(const std::string& name) {
  if (name == "imagenet") return NormalizeTable(NormalizeConfig{});
  if (name == "cifar") return NormalizeTable({{0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}});
  return NormalizeTable();
}

/// The steps that a transform without draws takes.
void append_steps(const TransformConfig& transform, ImageSize image, Plan& plan) {
  base::Philox draws(0, base::DrawPurpose::kTest, 0, 0);
  draw_steps(transform, image, draws, plan);
}

/// The words of a step of cases.tsv.
class StepWords {
 public:
  explicit StepWords(const std::string& text) : words_(text) {}

  std::string name() {
    std::string word;
    words_ >> word;
    return word;
  }
  double number() {
    double value = 0;
    words_ >> value;
    return value;
  }
  float factor() { return static_cast<float>(number()); }
  int integer() { return static_cast<int>(number()); }
  Interpolation interpolation() {
    return name() == "bicubic" ? Interpolation::kBicubic : Interpolation::kBilinear;
  }
  AffineInterpolation affine_interpolation() {
    const std::string filter = name();
    if (filter == "bicubic") return AffineInterpolation::kBicubic;
    return filter == "nearest" ? AffineInterpolation::kNearest : AffineInterpolation::kBilinear;
  }
  EdgePadding padding() {
    const std::string mode = name();
    if (mode == "edge") return EdgePadding::kEdge;
    if (mode == "reflect") return EdgePadding::kReflect;
    return mode == "symmetric" ? EdgePadding::kSymmetric : EdgePadding::kConstant;
  }
  std::array<int, 3> fill() { return {integer(), integer(), integer()}; }

 private:
  std::istringstream words_;
};

Plan parse_cut(const std::string& kind, StepWords& words, ImageSize image) {
  Plan plan;
  if (kind == "crop" || kind == "resize" || kind == "pad_crop") {
    const int first = words.integer();
    const int second = words.integer();
    if (kind == "resize") return {ResizeStep{{first, second}, words.interpolation()}};
    const int third = words.integer();
    const int fourth = words.integer();
    if (kind == "crop") return {CropStep{{first, second, third, fourth}}};
    return {CropStep{{second - first, third - first, fourth, fourth}, words.padding()}};
  }
  if (kind == "resize_shorter") {
    const int size = words.integer();
    append_steps(ResizeConfig{size, words.interpolation()}, image, plan);
  } else if (kind == "center_crop") {
    append_steps(CenterCropConfig{words.integer()}, image, plan);
  }
  return plan;
}

Plan parse_color(const std::string& kind, StepWords& words) {
  if (kind == "brightness") return {BrightnessStep{words.factor()}};
  if (kind == "contrast") return {ContrastStep{words.factor()}};
  if (kind == "saturation") return {SaturationStep{words.factor()}};
  if (kind == "hue") return {HueStep{words.number()}};
  if (kind == "sharpness") return {SharpnessStep{words.factor()}};
  if (kind == "posterize") return {PosterizeStep{words.integer()}};
  if (kind == "solarize") return {SolarizeStep{words.number()}};
  if (kind == "invert") return {InvertStep{}};
  if (kind == "autocontrast") return {AutocontrastStep{}};
  if (kind == "equalize") return {EqualizeStep{}};
  if (kind == "grayscale") return {SaturationStep{0.0f}};
  if (kind == "box_blur") return {BoxBlurStep{words.factor()}};
  if (kind == "mix") return {MixStep{words.factor()}};
  if (kind == "chain") return {MixInStep{words.factor()}};
  if (kind == "mixed") return {MixedStep{}};
  if (kind == "mixed_of") {
    const float of_sum = words.factor();
    return {MixedStep{.sum_share = of_sum, .own_share = 1.0f - of_sum}};
  }
  if (kind == "blended") return {MixedStep{.blended = words.factor()}};
  return {};
}

Plan parse_perspective(StepWords& words, ImageSize image) {
  Corners ends;
  for (auto& [x, y] : ends) {
    x = words.integer();
    y = words.integer();
  }
  const auto matrix = perspective_matrix(image, ends);
  EXPECT_TRUE(matrix.has_value());
  const AffineInterpolation interpolation = words.affine_interpolation();
  return {PerspectiveStep{matrix.value_or(PerspectiveMatrix{}), interpolation,
                          fill_color(words.fill())}};
}

/// timm's operation, argument or none, filter, fill.
Plan parse_timm(StepWords& words, ImageSize image) {
  Plan plan;
  const std::string op = words.name();
  const std::string argument = words.name();
  const AffineInterpolation interpolation = words.affine_interpolation();
  append_timm(timm_named(op).value(), argument == "none" ? 0.0 : std::stod(argument), image,
              interpolation, fill_color(words.fill()), plan);
  return plan;
}

/// Composer's operation, severity, two draws.
Plan parse_composer(StepWords& words, ImageSize image) {
  Plan plan;
  const auto op = composer_named(words.name()).value();
  const double severity = words.number();
  const std::array<double, 2> uniforms = {words.number(), words.number()};
  append_composer(op, composer_argument(op, severity, uniforms, image), image, plan);
  return plan;
}

Plan parse_move(const std::string& kind, StepWords& words, ImageSize image) {
  if (kind == "flip") return {FlipStep{}};
  if (kind == "vertical_flip") return {VerticalFlipStep{}};
  if (kind == "perspective") return parse_perspective(words, image);
  AffineStep step;
  if (kind == "rotate") {
    step.matrix = rotation_matrix(words.number(), image);
  } else if (kind == "rotate_expand") {
    const auto [matrix, size] = expanded_rotation(words.number(), image);
    step.matrix = matrix;
    step.size = size;
  } else if (kind == "rotate_about") {
    const double angle = words.number();
    step.matrix = rotation_about(angle, {words.number(), words.number()});
  } else if (kind == "affine") {
    Movement movement;
    movement.center = {image.width * 0.5, image.height * 0.5};
    movement.angle = words.number();
    movement.translate = {words.number(), words.number()};
    movement.scale = words.number();
    movement.shear = {words.number(), words.number()};
    step.matrix = affine_matrix(movement);
  } else {
    return {};
  }
  step.interpolation = words.affine_interpolation();
  step.fill = fill_color(words.fill());
  return {step};
}

Plan parse_step(const std::string& text, ImageSize image) {
  StepWords words(text);
  const std::string kind = words.name();
  if (kind == "augment") {
    Plan plan;
    const AugmentOp op = augment_named(words.name());
    const double magnitude = words.number();
    const AffineInterpolation interpolation = words.affine_interpolation();
    append_augment(op, magnitude, image, interpolation, words.fill(), plan);
    return plan;
  }
  if (kind == "timm") return parse_timm(words, image);
  if (kind == "composer") return parse_composer(words, image);
  Plan plan = parse_cut(kind, words, image);
  if (plan.empty()) plan = parse_color(kind, words);
  if (plan.empty()) plan = parse_move(kind, words, image);
  return plan;
}

/// As make_transforms.py has it.
std::string polynomial_hash(const std::vector<float>& floats) {
  std::uint64_t hash = 0;
  for (const float value : floats) {
    std::uint8_t bytes[sizeof(float)];
    std::memcpy(bytes, &value, sizeof(float));
    for (const std::uint8_t byte : bytes) hash = hash * 0x9E3779B97F4A7C15ull + byte + 1;
  }
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

void expect_equal(const std::vector<GoldenCase>& cases) {
  LazyImage image;
  for (const GoldenCase& expected : cases) {
    SCOPED_TRACE(expected.file + ": " + expected.steps);
    const StoredSample sample = encoded_sample(expected.file);
    image.open(sample);
    std::istringstream steps(expected.steps);
    for (std::string text; std::getline(steps, text, ';');) {
      const Plan plan = parse_step(text, image.size());
      ASSERT_FALSE(plan.empty()) << text;
      for (const Step& step : plan) image.apply(step);
    }
    ASSERT_EQ(image.size(), expected.size);
    std::vector<float> floats(
        static_cast<std::size_t>(3 * expected.size.height * expected.size.width));
    image.write(table_named(expected.normalization), {floats.data(), PixelLayout::kChannelsLast});
    EXPECT_EQ(polynomial_hash(floats), expected.hash);
  }
}

// Decoding, cropping, resizing, colours and normalisation equal Pillow's and torchvision's to the
// last bit.
TEST(LazyImageGolden, EqualsTorchvisionOnPillowImages) {
  std::vector<GoldenCase> cases;
  read_cases("cases.tsv", cases);
  read_cases("augmentations.tsv", cases);
  ASSERT_GT(cases.size(), 380u);
  expect_equal(cases);
}

// RandAugment and AugMix of given draws: make_composer.py, make_timm_augmix.py.
TEST(LazyImageGolden, EqualsComposersAndTimmsPolicies) {
  std::vector<GoldenCase> cases;
  read_cases("composer.tsv", cases);
  ASSERT_GT(cases.size(), 300u);
  expect_equal(cases);
  cases.clear();
  read_cases("timm_augmix.tsv", cases);
  ASSERT_GT(cases.size(), 10u);
  expect_equal(cases);
}

}  // namespace
}  // namespace paceline::data
