#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// The shorter side becomes `size` and the longer one follows, rounded down; of [height, width] the
/// ratio goes. Draws nothing.
struct ResizeConfig {
  config::Sides size = 256;
  Interpolation interpolation = Interpolation::kBilinear;
};

std::unique_ptr<Transform> make(const ResizeConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ResizeConfig> {
  using Config = data::ResizeConfig;
  static constexpr std::string_view name = "resize";
  static constexpr std::string_view summary =
      "Resizes the shorter side, and the ratio stays, or to [height, width].";
  static constexpr auto fields = std::tuple{
      field(&Config::size, "size", "Shorter side of the result in pixels, or [height, width].",
            AtLeast{1}, AtMost{16384, "no image has a longer side"}),
      field(&Config::interpolation, "interpolation",
            "Filter of the resize; random: bilinear or bicubic.")};
  static void validate(const Config& values, Problems& problems);
};
