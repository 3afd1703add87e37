#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// The shorter side becomes `size`; the longer one follows, rounded down. Draws nothing.
struct ResizeConfig {
  int size = 256;
  Interpolation interpolation = Interpolation::kBilinear;
};

std::unique_ptr<Transform> make(const ResizeConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ResizeConfig> {
  using Config = data::ResizeConfig;
  static constexpr std::string_view name = "resize";
  static constexpr std::string_view summary = "Resizes the shorter side; the ratio stays.";
  static constexpr auto fields = std::tuple{
      field(&Config::size, "size", "Shorter side of the result in pixels.", AtLeast{1},
            AtMost{16384, "no image has a longer side"}),
      field(&Config::interpolation, "interpolation", "Antialiased filter of the resize.")};
};
