#pragma once

#include "paceline/base/philox.h"

#include <span>

namespace paceline::data {

/// Whole numbers of this mean, as Poisson's law has them; from 64 on rounded normal ones.
double draw_poisson(double mean, base::Philox& draws);

/// Noise of X-rays' integrals, whose unit is a way of `fov_mm` through water: of `photons` that
/// come to a pixel through air exp(-attenuation) are expected behind a patient, and what is counted
/// is taken for them. A pixel counts at least one.
void add_photon_noise(std::span<float> integrals, double fov_mm, double photons,
                      base::Philox& draws);

}  // namespace paceline::data
