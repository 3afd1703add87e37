#include "paceline/data/sources/dataset_plan.h"

#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/named/presets.h"

namespace paceline::data {
namespace {

std::vector<TransformConfig> scaled_cifar(std::vector<TransformConfig> usual,
                                          const config::Sides& image_size) {
  constexpr int kCifarSize = 32;
  if (image_size == config::Sides(kCifarSize)) return usual;
  for (TransformConfig& transform : usual) {
    if (const auto* crop = transform.get_if<RandomCropConfig>()) {
      const int padding = crop->padding * image_size.shorter() / kCifarSize;
      transform = RandomCropConfig{.size = image_size, .padding = padding};
    } else if (transform.get_if<CenterCropConfig>() != nullptr) {
      transform = CenterCropConfig{.size = image_size};
    }
  }
  usual.insert(usual.begin(), ResizeConfig{.size = image_size});  // the images are square
  return usual;
}

}  // namespace

UsualTransforms photo_transforms() {
  return {224, [](const config::Sides& size) { return imagenet_train(size); },
          [](const config::Sides& size) {
            config::Sides larger = size;
            for (int& length : larger.lengths) length = length * 256 / 224;
            return imagenet_eval(larger, size);
          }};
}

UsualTransforms small_image_transforms(int default_image_size) {
  return {default_image_size,
          [](const config::Sides& size) { return scaled_cifar(cifar_train(), size); },
          [](const config::Sides& size) { return scaled_cifar(cifar_eval(), size); }};
}

UsualTransforms digit_transforms() {
  const auto usual = [](const config::Sides& size) { return mnist(size); };
  return {28, usual, usual};
}

}  // namespace paceline::data
