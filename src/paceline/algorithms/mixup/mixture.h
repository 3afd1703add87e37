#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paceline::algorithms {

/// With which sample of its group each is mixed.
enum class Partner { kPermutation, kReversed, kRolled };

/// What is mixed into consecutive samples of a microbatch: they become
/// (1 - share) * sample + share * partner.
struct Mixture {
  double share = 0;
  std::vector<std::int64_t> partners;  ///< for each of the samples a row of the microbatch
};

/// At most a half: min(share, 1 - share).
double folded(double share);

/// What a recipe says of mixing.
struct MixupConfig {
  double alpha = 0.2;  ///< shares are of Beta(alpha, alpha); 0: nothing is mixed
  bool fold = true;    ///< shares, so that a sample stays at least half itself
  Partner partner = Partner::kPermutation;
  bool interpolate_loss = false;           ///< mix losses, not targets
  std::optional<std::int64_t> group = {};  ///< samples that share a draw; nothing: the microbatch
};

/// The mixtures of a microbatch of `size` samples, the first at `first_position` of the epoch's
/// global order: of seed, step and the groups' places in that order alone.
std::vector<Mixture> draw_mixtures(const MixupConfig& config, std::uint64_t seed, std::int64_t step,
                                   std::int64_t first_position, std::int64_t size);

/// Writes each sample's partner row into `rows`, int64 in host memory, of as many elements.
void write_partners(std::span<const Mixture> mixtures, const at::Tensor& rows);

/// The rows of `values`, floating, mixed with those of `partners` (write_partners(), beside
/// the values): two products and a sum, each rounded as the values are.
at::Tensor mix(const at::Tensor& values, const at::Tensor& partners,
               std::span<const Mixture> mixtures);

}  // namespace paceline::algorithms
