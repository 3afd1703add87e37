#include "paceline/data/transforms/named/geometry/resize.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/draw.h"

#include <cstdint>
#include <optional>

namespace paceline::data {
namespace {

ImageSize resized(const ResizeConfig& config, ImageSize image) {
  if (!config.size.is_one()) return image_size(config.size);
  const int side = config.size.height();
  const auto follow = [&](int longer, int shorter) {
    constexpr std::int64_t kLongest = std::int64_t{1} << 30;
    const std::int64_t followed = std::int64_t{side} * longer / shorter;
    if (followed > kLongest) {
      throw base::DataError(fmt::format(
          "resize to {} would make {} x {} pixels {} long: the image is too narrow for it; leave "
          "it out",
          side, image.width, image.height, followed));
    }
    return static_cast<int>(followed);
  };
  return image.height <= image.width ? ImageSize{side, follow(image.width, image.height)}
                                     : ImageSize{follow(image.height, image.width), side};
}

class Resize final : public TransformOf<ResizeConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const ImageSize size = resized(config(), image);
    plan.emplace_back(ResizeStep{size, draw_filter(config().interpolation, draws)});
    return size;
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize> before) const override {
    if (!config().size.is_one()) return image_size(config().size);
    if (!before) return std::nullopt;
    return resized(config(), *before);
  }
};

}  // namespace

std::unique_ptr<Transform> make(const ResizeConfig& config) {
  return std::make_unique<Resize>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::ResizeConfig>::validate(const Config& values,
                                                                      Problems& problems) {
  data::check_image_sides("size", values.size, problems);
}
