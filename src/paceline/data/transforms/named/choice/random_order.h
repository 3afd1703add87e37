#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// All of `transforms` in a random order. Draws the order (Fisher-Yates from the back); then what
/// they draw.
struct RandomOrderConfig {
  std::vector<config::Component> transforms = {};
};

std::unique_ptr<Transform> make(const RandomOrderConfig& config,
                                std::vector<TransformConfig> transforms);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomOrderConfig> {
  using Config = data::RandomOrderConfig;
  static constexpr std::string_view name = "random_order";
  static constexpr std::string_view summary = "Some transforms in random order.";
  static constexpr auto fields =
      std::tuple{of_kind("transform", component(&Config::transforms, "transforms",
                                                "What is applied.", Required{}, NotEmpty{}))};
};
