#include "paceline/data/transforms/named/new_part.h"

namespace paceline::data {
namespace {

/// Any operation on pixels that moves none; the steps of plan.h need none of their own.
void run_new_part(const PixelView& source, const PixelStep::Parameters& parameters,
                  std::uint8_t* target, std::ptrdiff_t stride) {
  for (int y = 0; y < source.size.height; ++y) {
    const std::uint8_t* const from = source.row(y);
    for (std::ptrdiff_t i = 0; i < std::ptrdiff_t{3} * source.size.width; ++i)
      target[y * stride + i] = static_cast<std::uint8_t>(from[i] * parameters[0]);
  }
}

class NewPart final : public TransformOf<NewPartConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() < config().p) plan.emplace_back(PixelStep{run_new_part, {config().factor}});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const NewPartConfig& config) {
  return std::make_unique<NewPart>(config);
}

}  // namespace paceline::data
