#pragma once

#include "paceline/data/sources/ct/ct_dataset.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace paceline::data {

/// How well X-rays of files fit the volumes of a split.
struct AlignmentFacts {
  std::int64_t patients = 0;    ///< that were looked at
  double projection_error = 0;  ///< the mean over their views of volume::ViewFit::error
  /// Mean squared differences of X-rays and projections of the patient's volume, over those of
  /// X-rays and projections of the mean volume of these patients; nothing of less than two.
  std::optional<double> truth_loss_share = {};
};

/// Compares the X-rays of up to 64 patients, spread over the split, with projections of their
/// volumes; patients that cannot be read are left out, as loaders tell of them. Throws DataError
/// that names a patient, the view and the cure if one is swapped, mirrored, upside down or
/// inverted, ConfigError if X-rays are not of files.
AlignmentFacts check_alignment(const CtDataset& dataset);

/// Logs them, as those of `folder`: a warning if X-rays fit badly, though no other arrangement is
/// better.
void tell(const AlignmentFacts& facts, const std::filesystem::path& folder);

}  // namespace paceline::data
