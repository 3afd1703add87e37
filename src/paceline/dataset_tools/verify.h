#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// What reading a whole data set met.
struct VerifyReport {
  std::int64_t num_samples = 0;
  std::uint64_t size_bytes = 0;      ///< of the samples as they are stored
  std::vector<std::string> damaged;  ///< each with its place and what is wrong, in the set's order
  std::vector<std::string> empty_classes;  ///< names of those without a sample
};

/// Reads every sample of a data set, which checks the hashes of formats that have them, and decodes
/// it, if asked for. `progress` is called from any thread, one at a time, with samples done and
/// all.
VerifyReport verify(const data::Dataset& dataset, bool decodes, int num_threads,
                    const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace paceline::dataset_tools
