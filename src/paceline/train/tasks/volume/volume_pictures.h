#pragma once

#include "paceline/metrics/metric_sink.h"
#include "paceline/tensor/aten.h"

#include <array>
#include <cstdint>
#include <vector>

namespace paceline::train {

/// What stands in every file that a network made.
inline constexpr const char* kSyntheticNotice = "synthetic, not for diagnosis";

/// Volumes of one patient, [side, side, side] in Hounsfield units, of any type, on any device.
struct ShownVolumes {
  at::Tensor truth = {};   ///< not defined: nobody knows it
  at::Tensor sample = {};  ///< one that was drawn; not defined: it is not shown beside the mean
  at::Tensor mean;         ///< of `num_samples`
  at::Tensor deviation;    ///< likewise
  std::int64_t num_samples = 1;
};

/// The picture "slices": the middle slices in three planes, of a column each for truth, what was
/// drawn, how it differs from the truth (±500 HU for the usual window) and, of several samples,
/// their deviation; the notice stands below. Densities are shown from air to bone, -1000 to 1000
/// HU, as far as `hu_window` goes: scales do not depend on the volumes, so that pictures can be
/// compared.
metrics::Picture slices_picture(const ShownVolumes& volumes,
                                const std::array<double, 2>& hu_window);

/// X-rays of one patient, [views, size, size]: integrals whose unit is a way of fov_mm through
/// water.
struct ShownXrays {
  at::Tensor given;
  at::Tensor made;  ///< of the volume that was drawn
  std::vector<double> angles_degrees;
  double fov_mm = 400;
};

/// The picture "xrays": a row for each view with what was given, what was made and the difference,
/// in centimetres of water; the notice stands below. Scales follow from what was given.
metrics::Picture xrays_picture(const ShownXrays& xrays);

}  // namespace paceline::train
