#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// All of `transforms`, one after another, or none. Draws one uniform number, below p to act; then
/// what they draw.
struct RandomApplyConfig {
  std::vector<config::Component> transforms = {};
  double p = 0.5;
};

std::unique_ptr<Transform> make(const RandomApplyConfig& config,
                                std::vector<TransformConfig> transforms);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomApplyConfig> {
  using Config = data::RandomApplyConfig;
  static constexpr std::string_view name = "random_apply";
  static constexpr std::string_view summary = "All of some transforms, or none of them.";
  static constexpr auto fields = std::tuple{
      of_kind("transform", component(&Config::transforms, "transforms",
                                     "What is applied, in order.", Required{}, NotEmpty{})),
      field(&Config::p, "p", "Probability that they are.", InRange{0, 1})};
};
