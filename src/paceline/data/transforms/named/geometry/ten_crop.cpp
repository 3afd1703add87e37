#include "paceline/data/transforms/named/geometry/ten_crop.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/draw.h"

#include <optional>

namespace paceline::data {
namespace {

/// One of `num_views` pieces at random, unless a view is asked for.
template <class Config, int num_pieces>
class CropViews final : public TransformOf<Config> {
 public:
  using TransformOf<Config>::TransformOf;
  using TransformOf<Config>::config;

  int num_views() const override { return num_pieces; }
  ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const override {
    return cut(draw_below(draws, num_pieces), image, plan);
  }
  ImageSize draw_for(const DrawKey& key, ImageSize image, base::Philox& draws,
                     Plan& plan) const override {
    return key.view ? cut(*key.view, image, plan) : draw(image, draws, plan);
  }
  std::optional<ImageSize> fixed_size(std::optional<ImageSize>) const override {
    return image_size(config().size);
  }

 private:
  ImageSize cut(int view, ImageSize image, Plan& plan) const {
    bool vertical_flip = false;
    if constexpr (num_pieces == kNumTenCrops) vertical_flip = config().vertical_flip;
    const ImageSize size = image_size(config().size);
    append_crop_view(view, image, size, vertical_flip, plan);
    return size;
  }
};

}  // namespace

void append_crop_view(int view, ImageSize image, ImageSize crop, bool vertical_flip, Plan& plan) {
  PACELINE_CHECK(view >= 0 && view < kNumTenCrops, "there is no view {}", view);
  if (crop.height > image.height || crop.width > image.width) {
    throw base::DataError(
        fmt::format("five_crop and ten_crop cut {} x {} pixels, and this image has {} x {}: resize "
                    "it before, or leave it out",
                    crop.width, crop.height, image.width, image.height));
  }
  if (view >= kNumFiveCrops) {
    if (vertical_flip) {
      plan.emplace_back(VerticalFlipStep{});
    } else {
      plan.emplace_back(FlipStep{});
    }
  }
  const int lowest = image.height - crop.height;
  const int rightmost = image.width - crop.width;
  const int piece = view % kNumFiveCrops;
  if (piece == kNumFiveCrops - 1) {
    plan.emplace_back(CropStep{
        {round_to_even(lowest / 2.0), round_to_even(rightmost / 2.0), crop.height, crop.width}});
    return;
  }
  plan.emplace_back(
      CropStep{{piece >= 2 ? lowest : 0, piece % 2 == 1 ? rightmost : 0, crop.height, crop.width}});
}

std::unique_ptr<Transform> make(const FiveCropConfig& config) {
  return std::make_unique<CropViews<FiveCropConfig, kNumFiveCrops>>(config);
}

std::unique_ptr<Transform> make(const TenCropConfig& config) {
  return std::make_unique<CropViews<TenCropConfig, kNumTenCrops>>(config);
}

}  // namespace paceline::data

void paceline::config::Schema<paceline::data::FiveCropConfig>::validate(const Config& values,
                                                                        Problems& problems) {
  data::check_image_sides("size", values.size, problems);
}

void paceline::config::Schema<paceline::data::TenCropConfig>::validate(const Config& values,
                                                                       Problems& problems) {
  data::check_image_sides("size", values.size, problems);
}
