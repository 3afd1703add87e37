#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// Draws one uniform number for each of `axes`, below p to flip.
struct RandomFlipConfig {
  std::vector<int> axes = {-1};
  double p = 0.5;
  std::vector<std::string> fields = {};
};

std::unique_ptr<Transform> make(const RandomFlipConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomFlipConfig> {
  using Config = data::RandomFlipConfig;
  static constexpr std::string_view name = "random_flip";
  static constexpr std::string_view summary =
      "Mirrors along each of some axes: an image, or by one draw all fields of a sample of arrays.";
  static constexpr auto fields = std::tuple{
      field(
          &Config::axes, "axes",
          "Counted from the last one, -1, as NumPy does; of an image -1 is left and right, -2 top "
          "and bottom.",
          NotEmpty{}, InRange{-8, -1}),
      field(&Config::p, "p", "Probability of each axis to be mirrored.", InRange{0, 1}),
      field(&Config::fields, "fields",
            "Which fields of arrays to move; empty: all with two axes or more.")};
  static void validate(const Config& values, Problems& problems);
};
