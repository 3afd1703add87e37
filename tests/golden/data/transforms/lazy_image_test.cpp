#include "paceline/data/transforms/lazy_image.h"

#include "support/data/test_images.h"

#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

/// One line of cases.tsv.
struct GoldenCase {
  std::string file;
  std::string normalization;
  std::string steps;
  ImageSize size;
  std::string hash;
};

std::vector<GoldenCase> read_cases() {
  std::ifstream table(std::string(PACELINE_GOLDEN_DIR) + "/transforms/cases.tsv");
  std::vector<GoldenCase> cases;
  std::string height;
  std::string width;
  GoldenCase next;
  while (std::getline(table, next.file, '\t') && std::getline(table, next.normalization, '\t') &&
         std::getline(table, next.steps, '\t') && std::getline(table, height, '\t') &&
         std::getline(table, width, '\t') && std::getline(table, next.hash)) {
    next.size = {std::stoi(height), std::stoi(width)};
    cases.push_back(next);
  }
  return cases;
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

Plan parse_step(const std::string& text, ImageSize image) {
  std::istringstream words(text);
  std::string kind;
  words >> kind;
  const auto number = [&] {
    double value = 0;
    words >> value;
    return value;
  };
  const auto integer = [&] { return static_cast<int>(number()); };
  const auto interpolation = [&] {
    std::string name;
    words >> name;
    return name == "bicubic" ? Interpolation::kBicubic : Interpolation::kBilinear;
  };
  Plan plan;
  if (kind == "crop" || kind == "resize" || kind == "pad_crop") {
    const int first = integer();
    const int second = integer();
    if (kind == "resize") return {ResizeStep{{first, second}, interpolation()}};
    const int third = integer();
    if (kind == "crop") return {CropStep{{first, second, third, integer()}}};
    const int size = integer();
    return {CropStep{{second - first, third - first, size, size}}};
  }
  if (kind == "resize_shorter") {
    const int size = integer();
    append_steps(ResizeConfig{size, interpolation()}, image, plan);
  } else if (kind == "center_crop") {
    append_steps(CenterCropConfig{integer()}, image, plan);
  } else if (kind == "flip") {
    plan = {FlipStep{}};
  } else if (kind == "brightness") {
    plan = {BrightnessStep{static_cast<float>(number())}};
  } else if (kind == "contrast") {
    plan = {ContrastStep{static_cast<float>(number())}};
  } else if (kind == "saturation") {
    plan = {SaturationStep{static_cast<float>(number())}};
  } else if (kind == "hue") {
    plan = {HueStep{number()}};
  }
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

// Decoding, cropping, resizing, colours and normalisation equal Pillow's and torchvision's to the
// last bit.
TEST(LazyImageGolden, EqualsTorchvisionOnPillowImages) {
  const std::vector<GoldenCase> cases = read_cases();
  ASSERT_GT(cases.size(), 100u);
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

}  // namespace
}  // namespace paceline::data
