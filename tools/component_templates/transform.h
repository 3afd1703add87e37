#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Scales the bytes of some images: say here what it does, and name the paper. Draws one uniform
/// number, below p to act.
struct NewPartConfig {
  double p = 0.5;
  double factor = 0.5;
};

std::unique_ptr<Transform> make(const NewPartConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::NewPartConfig> {
  using Config = data::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence what it does to images.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the changed image.", InRange{0, 1}),
                 field(&Config::factor, "factor", "Factor on the bytes.", InRange{0, 1})};
};
