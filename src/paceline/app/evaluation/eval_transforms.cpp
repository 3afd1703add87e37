#include "paceline/app/evaluation/eval_transforms.h"

#include "paceline/base/error.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/named/geometry/ten_crop.h"
#include "paceline/data/transforms/pipeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

namespace paceline::app {
namespace {

using Transforms = std::vector<data::TransformConfig>;

/// The place of the last one of this type; nothing if there is none.
template <class Config>
std::optional<std::size_t> find_last(const Transforms& transforms) {
  for (std::size_t i = transforms.size(); i-- > 0;) {
    if (transforms[i]->name() == config::Schema<Config>::name) return i;
  }
  return std::nullopt;
}

config::Sides with_lengths(config::Sides sides, const auto& change) {
  for (int& length : sides.lengths) length = change(length);
  return sides;
}

data::ImageSize to_size(const config::Sides& sides) { return {sides.height(), sides.width()}; }

/// Cuts the piece in a corner, numbered as kCornerFields and append_crop_view() have them.
class CornerCrop final : public data::Transform {
 public:
  CornerCrop(const config::Sides& size, int corner) : size_(to_size(size)), corner_(corner) {}
  std::string_view name() const override { return "corner_crop"; }
  void check() const override {}
  config::Node written() const override { return config::Node::scalar("corner_crop"); }
  data::ImageSize draw(data::ImageSize image, base::Philox&, data::Plan& plan) const override {
    if (image.height < size_.height || image.width < size_.width)
      throw base::DataError(fmt::format(
          "ten crops of {} x {} pixels need an image of at least that size after the resize, and "
          "it has {} x {}: give a smaller --crop-pct",
          size_.width, size_.height, image.width, image.height));
    data::append_crop_view(corner_, image, size_, /*vertical_flip=*/false, plan);
    return size_;
  }
  std::optional<data::ImageSize> fixed_size(std::optional<data::ImageSize>) const override {
    return size_;
  }

 private:
  data::ImageSize size_;
  int corner_;
};

/// Images by several pipelines, and their label.
class ViewMaker final : public data::SampleMaker {
 public:
  ViewMaker(std::vector<std::pair<std::string, data::TransformPipeline>> views, bool channels_last)
      : layout_(channels_last ? data::PixelLayout::kChannelsLast : data::PixelLayout::kPlanar) {
    for (auto& [name, pipeline] : views) {
      const data::ImageSize size = pipeline.output_size();
      fields_.push_back({.name = std::move(name),
                         .sizes = {3, size.height, size.width},
                         .channels_last = channels_last});
      pipelines_.push_back(std::move(pipeline));
    }
    fields_.push_back({.name = std::string(data::kLabelsField), .type = data::FieldType::kInt64});
  }
  const std::vector<data::FieldSpec>& fields() const override { return fields_; }
  data::EraseSteps make(const data::StoredSample& sample, const data::DrawKey& key,
                        data::TransformScratch& scratch,
                        std::span<std::byte* const> targets) const override {
    for (std::size_t i = 0; i < pipelines_.size(); ++i) {
      pipelines_[i].run(sample, key, scratch,
                        data::PixelSink{reinterpret_cast<float*>(targets[i]), layout_});
    }
    std::memcpy(targets[pipelines_.size()], &sample.label, sizeof(sample.label));
    return {};
  }

 private:
  data::PixelLayout layout_;
  std::vector<data::TransformPipeline> pipelines_;
  std::vector<data::FieldSpec> fields_;
};

}  // namespace

Transforms with_views(Transforms transforms, const EvalViews& views) {
  if (!views.size && !views.crop_pct) return transforms;
  const auto resize_at = find_last<data::ResizeConfig>(transforms);
  const auto crop_at = find_last<data::CenterCropConfig>(transforms);
  if (!resize_at && !crop_at)
    throw base::ConfigError(
        "--size and --crop-pct change the recipe's resize and center_crop, and "
        "data.eval_transforms "
        "have neither: write data.eval_transforms with them");
  data::ResizeConfig resize;
  if (resize_at) resize = *transforms[*resize_at].get_if<data::ResizeConfig>();
  const config::Sides old_crop =
      crop_at ? transforms[*crop_at].get_if<data::CenterCropConfig>()->size : resize.size;
  const config::Sides crop = views.size ? config::Sides(*views.size) : old_crop;
  const int resized = resize_at ? resize.size.shorter() : 1;
  const int cut = resize_at ? old_crop.shorter() : 1;
  resize.size = with_lengths(crop, [&](int length) {
    return views.crop_pct ? static_cast<int>(std::floor(length / *views.crop_pct))
                          : length * resized / cut;
  });
  const data::CenterCropConfig center{.size = crop};
  if (crop_at) {
    transforms[*crop_at] = center;
  } else {
    transforms.insert(transforms.begin() + static_cast<std::ptrdiff_t>(*resize_at) + 1, center);
  }
  if (resize_at) {
    transforms[*resize_at] = resize;
  } else {
    transforms.insert(transforms.begin() + static_cast<std::ptrdiff_t>(*crop_at), resize);
  }
  return transforms;
}

std::shared_ptr<const data::SampleMaker> make_five_crops(const Transforms& transforms,
                                                         bool channels_last) {
  const auto crop_at = find_last<data::CenterCropConfig>(transforms);
  if (!crop_at)
    throw base::ConfigError(
        "--ten-crop cuts the corners of what the recipe's center_crop cuts the middle of, and "
        "data.eval_transforms have none: give --size or --crop-pct, or write one");
  const config::Sides size = transforms[*crop_at].get_if<data::CenterCropConfig>()->size;
  std::vector<std::pair<std::string, data::TransformPipeline>> views;
  views.emplace_back(std::string(data::kImagesField), data::TransformPipeline(transforms));
  for (std::size_t corner = 0; corner < std::size(kCornerFields); ++corner) {
    Transforms cut = transforms;
    cut[*crop_at] =
        data::TransformConfig(std::make_unique<CornerCrop>(size, static_cast<int>(corner)));
    views.emplace_back(std::string(kCornerFields[corner]), data::TransformPipeline(cut));
  }
  return std::make_shared<ViewMaker>(std::move(views), channels_last);
}

}  // namespace paceline::app
