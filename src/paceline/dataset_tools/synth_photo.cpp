#include "paceline/dataset_tools/synth_photo.h"

#include "paceline/base/philox.h"
#include "paceline/dataset_tools/synth_scene.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace paceline::dataset_tools {
namespace {

// What was calibrated, until files had ImageNet's bits per pixel and coefficients per block.
constexpr double kSceneContrast = 5.2;      ///< of single pixels, of 255
constexpr double kContrastRange = 1.7;      ///< pictures differ by 2 to this power, up and down
constexpr double kOctaveGrowth = 1.3;       ///< of noise, from one octave to the next coarser one
constexpr double kRoughnessRange = 0.75;    ///< within a picture
constexpr double kColorShare = 0.203;       ///< of colour in noise
constexpr double kColorOfBrightness = 0.3;  ///< how far colour follows brightness
constexpr int kRoughOctaves = 4;            ///< whose noise differs from place to place

/// Coordinate `axis` of point `number` of a sequence that fills the unit cube evenly: Roberts, "The
/// unreasonable effectiveness of quasirandom sequences", 2018, here of five dimensions.
double spread(std::uint64_t seed, std::int64_t number, int axis) {
  constexpr double kRoot = 1.1347241384015194;  // of x^6 = x + 1
  base::Philox draws(seed, base::DrawPurpose::kSynthesis, ~std::uint64_t{0}, 0);
  double start = 0;
  for (int i = 0; i <= axis; ++i) start = draws.uniform();
  const double place = start + static_cast<double>(number) * std::pow(kRoot, -(axis + 1));
  return place - std::floor(place);
}

struct Size {
  int width;
  int height;
};

/// The size at place `share` of all, both in [0, 1); `squareness` tells the other side of the rarer
/// ones.
Size size_of(double share, double squareness) {
  if (share < 0.21) return {500, 375};
  if (share < 0.31) return {500, 333};
  if (share < 0.37) return {375, 500};
  if (share < 0.41) return {333, 500};
  const double rest = (share - 0.41) / 0.59;
  double long_side = 500;
  if (rest > 0.5) long_side = 100 + 300 * (rest - 0.5) / 0.28;
  if (rest > 0.78) long_side = 500 + 540 * (rest - 0.78) / 0.22;
  const int longer = static_cast<int>(long_side);
  const int shorter = static_cast<int>(long_side * (0.55 + 0.45 * squareness));
  const bool is_upright = static_cast<int>(squareness * 64) % 4 == 3;
  return is_upright ? Size{shorter, longer} : Size{longer, shorter};
}

struct Coding {
  JpegSampling sampling;
  int quality;
};

/// Files of quality 96 keep colours whole; the others are of all kinds.
Coding coding_of(double share, double share_of_quality) {
  if (share < 0.655) return {JpegSampling::k444, 96};
  const int quality = std::max(75, static_cast<int>(95.5 - 23.5 * share_of_quality));
  if (share < 0.76) return {JpegSampling::k444, quality};
  if (share < 0.965) return {JpegSampling::k420, quality};
  return {share < 0.988 ? JpegSampling::kGrey : JpegSampling::k422, quality};
}

/// Brightness, two differences of colour, and how rough the picture is.
using Noise = std::array<float, 4>;

struct NoiseField {
  int width;
  int height;
  std::vector<Noise> values;

  Noise* row(int y) { return values.data() + static_cast<std::size_t>(y) * width; }
  const Noise* row(int y) const { return values.data() + static_cast<std::size_t>(y) * width; }
};

Noise between(const Noise& near, const Noise& far) {
  Noise mixed;
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = 0.75f * near[i] + 0.25f * far[i];
  return mixed;
}

/// Twice as large, linear between the centres of pixels.
NoiseField enlarge(const NoiseField& small, int width, int height) {
  NoiseField large{width, height, std::vector<Noise>(static_cast<std::size_t>(width) * height)};
  std::vector<Noise> line(static_cast<std::size_t>(small.width));
  for (int y = 0; y < height; ++y) {
    const int other = std::clamp(y / 2 + (y % 2 == 0 ? -1 : 1), 0, small.height - 1);
    for (int x = 0; x < small.width; ++x)
      line[static_cast<std::size_t>(x)] = between(small.row(y / 2)[x], small.row(other)[x]);
    for (int x = 0; x < width; ++x) {
      const int beside = std::clamp(x / 2 + (x % 2 == 0 ? -1 : 1), 0, small.width - 1);
      large.row(y)[x] =
          between(line[static_cast<std::size_t>(x / 2)], line[static_cast<std::size_t>(beside)]);
    }
  }
  return large;
}

/// Adds the noise of an octave, 0 being that of single pixels.
void add_octave(NoiseField& field, int octave, base::Philox& draws) {
  const auto growth = static_cast<float>(std::pow(kOctaveGrowth, octave));
  const bool is_rough = octave < kRoughOctaves;
  for (Noise& value : field.values) {
    const std::uint32_t word = draws.next();
    const auto white = [&](unsigned i) {
      return static_cast<float>((word >> (8 * i)) & 255u) / 127.5f - 1.0f;
    };
    const float strength = is_rough ? growth * value[3] * value[3] : growth;
    for (unsigned i = 0; i < 3; ++i) value[i] += strength * white(i);
    if (!is_rough) value[3] += static_cast<float>(kRoughnessRange) * white(3);
  }
}

NoiseField make_noise(int width, int height, base::Philox& draws) {
  int octave = 0;
  while ((std::max(width, height) >> octave) > 4) ++octave;
  const auto side = [&](int whole) { return (whole + (1 << octave) - 1) >> octave; };
  NoiseField field{side(width), side(height), {}};
  field.values.assign(static_cast<std::size_t>(field.width) * field.height, {0, 0, 0, 1});
  add_octave(field, octave, draws);
  while (octave-- > 0) {
    field = enlarge(field, side(width), side(height));
    add_octave(field, octave, draws);
  }
  return field;
}

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0));
}

}  // namespace

PhotoPlan plan_photo(std::uint64_t seed, std::int64_t number) {
  const Size size = size_of(spread(seed, number, 0), spread(seed, number, 4));
  const Coding coding = coding_of(spread(seed, number, 1), spread(seed, number, 2));
  const double contrast = std::exp2(kContrastRange * (2 * spread(seed, number, 3) - 1));
  return {size.width, size.height, coding.sampling, coding.quality, contrast};
}

data::Image synthesize_photo(const PhotoPlan& plan, int class_index, std::uint64_t seed,
                             std::int64_t number) {
  base::Philox draws(seed, base::DrawPurpose::kSynthesis,
                     static_cast<std::uint64_t>(class_index) + (std::uint64_t{1} << 32),
                     static_cast<std::uint64_t>(number));
  const Scene scene = paint_scene(class_index, plan.width, plan.height, draws);
  const NoiseField noise = make_noise(plan.width, plan.height, draws);
  data::Image image{plan.width, plan.height, {}};
  image.pixels.reserve(scene.pixels.size() * 3);
  const double strength = kSceneContrast * plan.contrast;
  for (std::size_t i = 0; i < scene.pixels.size(); ++i) {
    const Color& color = scene.pixels[i];
    const Noise& at = noise.values[i];
    const double light = strength * at[0];
    const double blue = kColorShare * (strength * at[1] - kColorOfBrightness * light);
    const double red = kColorShare * (strength * at[2] + kColorOfBrightness * light);
    image.pixels.push_back(to_byte(color[0] + light + 1.402 * red));
    image.pixels.push_back(to_byte(color[1] + light - 0.344 * blue - 0.714 * red));
    image.pixels.push_back(to_byte(color[2] + light + 1.772 * blue));
  }
  return image;
}

}  // namespace paceline::dataset_tools
