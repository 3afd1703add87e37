#include "paceline/data/transforms/named/resize.h"

#include "paceline/base/error.h"

#include <cstdint>
#include <optional>

namespace paceline::data {
namespace {

ImageSize resized(const ResizeConfig& config, ImageSize image) {
  const auto follow = [&](int longer, int shorter) {
    constexpr std::int64_t kLongest = std::int64_t{1} << 30;
    const std::int64_t followed = std::int64_t{config.size} * longer / shorter;
    if (followed > kLongest) {
      throw base::DataError(fmt::format(
          "resize to {} would make {} x {} pixels {} long: the image is too narrow for it; leave "
          "it out",
          config.size, image.width, image.height, followed));
    }
    return static_cast<int>(followed);
  };
  return image.height <= image.width ? ImageSize{config.size, follow(image.width, image.height)}
                                     : ImageSize{follow(image.height, image.width), config.size};
}

class Resize final : public TransformOf<ResizeConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox&, Plan& plan) const override {
    const ImageSize size = resized(config(), image);
    plan.emplace_back(ResizeStep{size, config().interpolation});
    return size;
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize> before) const override {
    if (!before) return std::nullopt;
    return resized(config(), *before);
  }
};

}  // namespace

std::unique_ptr<Transform> make(const ResizeConfig& config) {
  return std::make_unique<Resize>(config);
}

}  // namespace paceline::data
