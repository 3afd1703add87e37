#pragma once

#include "paceline/config/node.h"
#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// How images are prepared where a recipe has none of their transforms; null: by model.pretrained,
/// and where its weights tell nothing, as usual for the data set.
struct Preprocessing {
  std::optional<std::array<double, 3>> mean = {};
  std::optional<std::array<double, 3>> std = {};
  std::optional<int> resize = {};
  std::optional<int> crop = {};
  std::optional<data::Interpolation> interpolation = {};

  friend bool operator==(const Preprocessing&, const Preprocessing&) = default;
};

/// The usual transforms of a data set, prepared so: every normalize, and the resize in front of a
/// center_crop, whose size is left as it is.
std::vector<data::TransformConfig> prepared(std::vector<data::TransformConfig> usual,
                                            const Preprocessing& by);

/// Takes from `known` what is null; resize and crop, which belong together, only both.
void fill_open(const Preprocessing& known, Preprocessing& open);

/// Writes it to data.preprocessing of a whole recipe, so that whoever goes on with a run or
/// evaluates it need not ask for its first weights.
void record_preprocessing(const Preprocessing& preprocessing, config::Node& resolved);

/// "resize 256, crop 224, interpolation bilinear, mean [...], std [...]", without what is null.
std::string describe(const Preprocessing& preprocessing);

}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::Preprocessing> {
  using Config = app::Preprocessing;
  static constexpr std::string_view name = "preprocessing";
  static constexpr std::string_view summary =
      "How images are prepared where image_size, train_transforms and eval_transforms say nothing; "
      "null: as the weights of model.pretrained were published with, else as usual for the data "
      "set.";
  static constexpr auto fields = std::tuple{
      field(&Config::mean, "mean",
            "Of red, green and blue, from 0 to 1; for training and evaluation.",
            InRange{-1000, 1000}),
      field(&Config::std, "std", "Likewise.", MoreThan{0}, AtMost{1000, "pixels end at 1"}),
      field(&Config::resize, "resize",
            "Shorter side in pixels before the crop of an evaluation; in proportion where "
            "image_size is another than crop.",
            AtLeast{1}, AtMost{16384, "no image has a longer side"}),
      field(&Config::crop, "crop", "Side of the images in pixels where image_size is null.",
            AtLeast{1}, AtMost{16384, "no image has a longer side"}),
      field(&Config::interpolation, "interpolation", "Filter of the resize of an evaluation.")};
  static void validate(const Config& values, Problems& problems);
};
