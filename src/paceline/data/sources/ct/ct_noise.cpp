#include "paceline/data/sources/ct/ct_noise.h"

#include "paceline/data/sources/ct/ct_projector.h"

#include <algorithm>
#include <cmath>

namespace paceline::data {

double draw_poisson(double mean, base::Philox& draws) {
  constexpr double kMany = 64;
  if (mean >= kMany) return std::max(0.0, std::round(mean + std::sqrt(mean) * draws.normal()));
  // Knuth's: how many uniform numbers can be multiplied before the product falls below exp(-mean).
  const double limit = std::exp(-mean);
  double count = 0;
  for (double product = draws.uniform(); product > limit; product *= draws.uniform()) ++count;
  return count;
}

void add_photon_noise(std::span<float> integrals, double fov_mm, double photons,
                      base::Philox& draws) {
  const double per_unit = kWaterPerMm * fov_mm;
  for (float& value : integrals) {
    const double expected = photons * std::exp(-per_unit * static_cast<double>(value));
    const double counted = std::max(1.0, draw_poisson(expected, draws));
    value = static_cast<float>(-std::log(counted / photons) / per_unit);
  }
}

}  // namespace paceline::data
