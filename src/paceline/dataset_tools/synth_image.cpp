#include "paceline/base/philox.h"
#include "paceline/dataset_tools/synth.h"
#include "paceline/dataset_tools/synth_scene.h"

#include <cstdint>

namespace paceline::dataset_tools {
data::Image synthesize_image(const SynthOptions& options, int class_index, std::int64_t index) {
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

}  // namespace paceline::dataset_tools
