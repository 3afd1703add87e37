#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/sources/dataset_plan.h"

#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// Several data sets as one: all samples of `parts`, part by part (see concatenate()). How often
/// each part comes is its sampler's to say: ByPartConfig. Validation samples are those of the parts
/// that have some. Images get the usual transforms of the first part.
struct MixtureConfig {
  std::vector<config::Component> parts = {};
};

/// `parts`: what the Config names. Throws ConfigError for one that makes its samples by itself.
std::unique_ptr<DatasetPlan> make(const MixtureConfig& config,
                                  std::vector<std::unique_ptr<DatasetPlan>> parts);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::MixtureConfig> {
  using Config = data::MixtureConfig;
  static constexpr std::string_view name = "mixture";
  static constexpr std::string_view summary =
      "Several data sets of the same classes as one; data.sampler=by_part gives them weights.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{of_kind(
      "dataset",
      component(&Config::parts, "parts",
                "The data sets, each with its own settings; the first one has all classes, and its "
                "usual transforms are those of all.",
                Required{}, NotEmpty{}))};
};
