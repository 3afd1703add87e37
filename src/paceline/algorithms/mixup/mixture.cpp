#include "paceline/algorithms/mixup/mixture.h"

#include "paceline/base/philox.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace paceline::algorithms {
namespace {

/// In (0, 1].
double positive_uniform(base::Philox& draws) { return 1.0 - draws.uniform(); }

/// The logarithms keep ratios of numbers that are too small to be had. Paper: Jöhnk, "Erzeugung von
/// betaverteilten und gammaverteilten Zufallszahlen", Metrika 1964.
double draw_small_beta(double alpha, base::Philox& draws) {
  while (true) {
    const double x = std::log(positive_uniform(draws)) / alpha;
    const double y = std::log(positive_uniform(draws)) / alpha;
    if (std::exp(x) + std::exp(y) > 1) continue;
    return 1.0 / (1.0 + std::exp(y - x));
  }
}

/// For shapes of at least 1. Paper: Marsaglia and Tsang, "A simple method for generating gamma
/// variables", ACM TOMS 2000.
double draw_gamma(double shape, base::Philox& draws) {
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = draws.normal();
    const double root = 1.0 + c * x;
    const double u = positive_uniform(draws);
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

/// Of Beta(alpha, alpha).
double draw_beta(double alpha, base::Philox& draws) {
  if (alpha <= 1) return draw_small_beta(alpha, draws);
  const double first = draw_gamma(alpha, draws);
  return first / (first + draw_gamma(alpha, draws));
}

/// Of `count` samples, by their places in the group.
std::vector<std::int64_t> draw_partners(Partner partner, std::int64_t count, base::Philox& draws) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  switch (partner) {
    case Partner::kPermutation:
      for (std::size_t i = places.size(); i > 1; --i)
        std::swap(places[i - 1], places[draws.below(i)]);
      break;
    case Partner::kReversed:
      std::reverse(places.begin(), places.end());
      break;
    case Partner::kRolled:
      std::rotate(places.begin(), places.end() - 1, places.end());
      break;
  }
  return places;
}

}  // namespace

double folded(double share) { return std::min(share, 1.0 - share); }

std::vector<Mixture> draw_mixtures(const MixupConfig& config, std::uint64_t seed, std::int64_t step,
                                   std::int64_t first_position, std::int64_t size) {
  std::vector<Mixture> mixtures;
  for (std::int64_t row = 0; row < size;) {
    const std::int64_t position = first_position + row;
    const std::int64_t to_border = config.group ? *config.group - position % *config.group : size;
    const std::int64_t count = std::min(size - row, to_border);
    base::Philox draws(seed, base::DrawPurpose::kMixing, static_cast<std::uint64_t>(step),
                       static_cast<std::uint64_t>(position));
    Mixture mixture;
    if (config.alpha > 0) mixture.share = draw_beta(config.alpha, draws);
    if (config.fold) mixture.share = folded(mixture.share);
    mixture.partners = draw_partners(config.partner, count, draws);
    for (std::int64_t& partner : mixture.partners) partner += row;
    mixtures.push_back(std::move(mixture));
    row += count;
  }
  return mixtures;
}

void write_partners(std::span<const Mixture> mixtures, const at::Tensor& rows) {
  auto* row = rows.mutable_data_ptr<std::int64_t>();
  for (const Mixture& mixture : mixtures) row = std::ranges::copy(mixture.partners, row).out;
}

at::Tensor mix(const at::Tensor& values, const at::Tensor& partners,
               std::span<const Mixture> mixtures) {
  const at::Tensor others = values.index_select(0, partners);
  std::vector<at::Tensor> mixed;
  std::int64_t row = 0;
  for (const Mixture& mixture : mixtures) {
    const auto count = std::ssize(mixture.partners);
    mixed.push_back(values.narrow(0, row, count) * (1.0 - mixture.share) +
                    others.narrow(0, row, count) * mixture.share);
    row += count;
  }
  return mixed.size() == 1 ? mixed.front() : at::cat(mixed);
}

}  // namespace paceline::algorithms
