#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// One of `transforms`, with these shares of the probability. Draws one uniform number; then what
/// it draws.
struct RandomChoiceConfig {
  std::vector<config::Component> transforms = {};
  std::vector<double> p = {};  ///< empty: all the same
};

std::unique_ptr<Transform> make(const RandomChoiceConfig& config,
                                std::vector<TransformConfig> transforms);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomChoiceConfig> {
  using Config = data::RandomChoiceConfig;
  static constexpr std::string_view name = "random_choice";
  static constexpr std::string_view summary = "One of some transforms.";
  static constexpr auto fields = std::tuple{
      of_kind("transform", component(&Config::transforms, "transforms", "What is chosen from.",
                                     Required{}, NotEmpty{})),
      field(&Config::p, "p", "Share of each, of which only the ratios count; empty: all the same.",
            AtLeast{0}, AtMost{1e6, "only the ratios count"})};
  static void validate(const Config& values, Problems& problems);
};
