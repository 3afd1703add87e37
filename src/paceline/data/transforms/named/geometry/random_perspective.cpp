#include "paceline/data/transforms/named/geometry/random_perspective.h"

#include "paceline/data/transforms/draw.h"
#include "paceline/data/transforms/kernels/perspective_matrix.h"

namespace paceline::data {
namespace {

class RandomPerspective final : public TransformOf<RandomPerspectiveConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    if (draws.uniform() >= config().p) return image;
    if (const auto matrix = perspective_matrix(image, draw_ends(image, draws))) {
      plan.emplace_back(PerspectiveStep{*matrix, draw_filter(config().interpolation, draws),
                                        fill_color(config().fill)});
    }
    return image;
  }

 private:
  Corners draw_ends(ImageSize image, base::Philox& draws) const {
    const auto way = [&](int side) {
      const int half = side / 2;
      return draw_below(draws, static_cast<int>(config().distortion_scale * half) + 1);
    };
    Corners ends = {};
    for (std::size_t corner = 0; corner < ends.size(); ++corner) {
      const bool is_right = corner == 1 || corner == 2;
      const bool is_bottom = corner >= 2;
      const int across = way(image.width);
      const int down = way(image.height);
      ends[corner] = {is_right ? image.width - 1 - across : across,
                      is_bottom ? image.height - 1 - down : down};
    }
    return ends;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const RandomPerspectiveConfig& config) {
  return std::make_unique<RandomPerspective>(config);
}

}  // namespace paceline::data
