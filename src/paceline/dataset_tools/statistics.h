#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// A distribution by its landmarks.
struct Distribution {
  double smallest = 0;
  double p10 = 0;
  double median = 0;
  double mean = 0;
  double p90 = 0;
  double largest = 0;
};

/// Of values in any order; of none all is 0.
Distribution distribution_of(std::vector<double> values);

/// What a data set holds.
struct DatasetStatistics {
  std::int64_t num_samples = 0;
  std::vector<std::int64_t> class_sizes;  ///< by label
  /// Of the samples that were looked into:
  std::int64_t num_examined = 0;
  std::map<std::string, std::int64_t> formats;  ///< "JPEG baseline 4:2:0", "PNG", "pixels"
  Distribution size_bytes;                      ///< as stored
  Distribution width;
  Distribution height;
  Distribution bits_per_pixel;       ///< of encoded files
  std::vector<std::string> damaged;  ///< files whose head cannot be read
};

/// How a sample is stored, as DatasetStatistics::formats has it.
std::string describe_format(const data::StoredSample& sample);

/// Counts all labels and looks into the heads of `num_examined` samples, evenly spread; 0: all.
DatasetStatistics examine(
    const data::Dataset& dataset, std::int64_t num_examined, int num_threads,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress);

}  // namespace paceline::dataset_tools
