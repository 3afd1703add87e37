#pragma once

#include "paceline/algorithms/microbatch/sample_group.h"
#include "paceline/base/philox.h"
#include "paceline/config/schema.h"

#include <array>
#include <cstdint>
#include <vector>

namespace paceline::algorithms {

/// Of Beta(alpha, alpha), alpha > 0. Papers: Jöhnk, "Erzeugung von betaverteilten und
/// gammaverteilten Zufallszahlen", Metrika 1964 (up to 1); Marsaglia and Tsang, "A simple method
/// for generating gamma variables", ACM TOMS 2000 (above).
double draw_beta(double alpha, base::Philox& draws);

/// With which sample of its group each is mixed.
enum class Partner { kPermutation, kReversed, kRolled };

/// For each sample of a group a row of its microbatch.
std::vector<std::int64_t> draw_partners(Partner partner, const SampleGroup& group,
                                        base::Philox& draws);

/// How recipes say what mixing algorithms have in common.
template <class Config>
constexpr auto partner_field() {
  return config::field(
      &Config::partner, "partner",
      "permutation: drawn (as Composer); reversed: the last with the first (as timm); rolled: "
      "with the one before (as torchvision).");
}
template <class Config>
constexpr auto interpolate_loss_field() {
  return config::field(&Config::interpolate_loss, "interpolate_loss",
                       "Mix the losses for both targets instead of the targets, for a loss that "
                       "takes class indices only.");
}
template <class Config>
void check_group(const Config& config, config::Problems& problems) {
  if (config.interpolate_loss && config.group)
    problems.add("interpolate_loss",
                 "mixes the loss of a whole microbatch, and group draws a share for parts of it: "
                 "leave one of them out");
}

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::Partner> {
  static constexpr std::array names{
      EnumName{paceline::algorithms::Partner::kPermutation, "permutation"},
      EnumName{paceline::algorithms::Partner::kReversed, "reversed"},
      EnumName{paceline::algorithms::Partner::kRolled, "rolled"}};
};
