#include "paceline/data/sources/dataset_plan.h"

#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"

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
  const auto eval = [](const config::Sides& size) {
    config::Sides larger = size;
    for (int& length : larger.lengths) length = length * 256 / 224;
    return imagenet_eval(larger, size);
  };
  const auto train = [eval](const config::Sides& size, Augmentation augmentation) {
    return augmentation == Augmentation::kNone ? eval(size) : imagenet_train(size, augmentation);
  };
  return {224, train, eval};
}

UsualTransforms small_image_transforms(int default_image_size) {
  const auto eval = [](const config::Sides& size) { return scaled_cifar(cifar_eval(), size); };
  const auto train = [eval](const config::Sides& size, Augmentation augmentation) {
    return augmentation == Augmentation::kNone ? eval(size)
                                               : scaled_cifar(cifar_train(augmentation), size);
  };
  return {default_image_size, train, eval};
}

UsualTransforms digit_transforms() {
  const auto train = [](const config::Sides& size, Augmentation augmentation) {
    return mnist(size, augmentation);
  };
  return {28, train, [](const config::Sides& size) { return mnist(size); }};
}

}  // namespace paceline::data
