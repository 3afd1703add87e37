#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/transforms/transform.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::data {

/// Draws one uniform number, below p to flip. `alternating`: the number is drawn for the sample, by
/// the seed and its own number, decides for the first epoch, and each epoch does the other of the
/// one before; nothing is drawn of the numbers that other transforms share.
/// Paper: Jordan, "94% on CIFAR-10 in 3.29 seconds on a single GPU", 2024, section 3.6.
struct RandomHorizontalFlipConfig {
  double p = 0.5;
  bool alternating = false;
};

std::unique_ptr<Transform> make(const RandomHorizontalFlipConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::RandomHorizontalFlipConfig> {
  using Config = data::RandomHorizontalFlipConfig;
  static constexpr std::string_view name = "random_horizontal_flip";
  static constexpr std::string_view summary = "Mirrors left and right.";
  static constexpr auto fields =
      std::tuple{field(&Config::p, "p", "Probability of the mirrored image.", InRange{0, 1}),
                 field(&Config::alternating, "alternating",
                       "Draw once for each sample, and mirror it in every second epoch, so that it "
                       "is seen both ways equally often.")};
};
