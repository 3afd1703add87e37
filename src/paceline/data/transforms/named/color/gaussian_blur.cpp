#include "paceline/data/transforms/named/color/gaussian_blur.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/draw.h"

#include <algorithm>

namespace paceline::data {
namespace {

class RandomGaussianBlur final : public TransformOf<GaussianBlurConfig> {
 public:
  using TransformOf::TransformOf;
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    const ImageSize kernel_size = image_size(config().kernel_size);
    if (kernel_size.height / 2 >= image.height || kernel_size.width / 2 >= image.width) {
      throw base::DataError(fmt::format(
          "gaussian_blur.kernel_size: {} reaches beyond an image of {} x {} pixels mirrored at its "
          "edges: make it smaller, or resize first",
          config().kernel_size.to_string(), image.width, image.height));
    }
    plan.emplace_back(GaussianBlurStep{kernel_size, draw_from(config().sigma, draws)});
    return image;
  }
};

}  // namespace

std::unique_ptr<Transform> make(const GaussianBlurConfig& config) {
  return std::make_unique<RandomGaussianBlur>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::GaussianBlurConfig>::validate(const Config& values,
                                                                            Problems& problems) {
  data::check_image_sides("kernel_size", values.kernel_size, problems);
  data::check_order("sigma", values.sigma, problems);
  const auto is_even = [](int length) { return length % 2 == 0; };
  if (std::ranges::any_of(values.kernel_size.lengths, is_even))
    problems.add("kernel_size", "must be odd, so that a pixel is in the middle, got " +
                                    values.kernel_size.to_string());
}
