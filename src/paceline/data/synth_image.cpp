#include "paceline/base/philox.h"
#include "paceline/data/synth.h"
#include "paceline/data/synth_scene.h"

#include <algorithm>
#include <cstdint>

namespace paceline::data {
namespace {

/// Adds white noise of the given strength and rounds to bytes.
Image with_noise(const Scene& scene, base::Philox& draws, double strength) {
  Image image{scene.width, scene.height, {}};
  image.pixels.reserve(scene.pixels.size() * 3);
  for (const Color& color : scene.pixels) {
    const std::uint32_t word = draws.next();
    for (unsigned channel = 0; channel < 3; ++channel) {
      const double noise = ((word >> (8 * channel)) & 255u) / 127.5 - 1.0;
      const double value = color[channel] + strength * noise;
      image.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)));
    }
  }
  return image;
}

}  // namespace

Image synthesize_image(const SynthOptions& options, int class_index, std::int64_t index) {
  base::Philox draws(options.seed, base::DrawPurpose::kSynthesis,
                     static_cast<std::uint64_t>(class_index), static_cast<std::uint64_t>(index));
  const auto draw_side = [&] {
    return options.min_size + static_cast<int>(draws.below(
                                  static_cast<unsigned>(options.max_size - options.min_size) + 1));
  };
  const int width = draw_side();
  const int height = draw_side();
  const Scene scene = paint_scene(class_index, width, height, draws);
  return with_noise(scene, draws, draws.uniform(4, 14));
}

}  // namespace paceline::data
