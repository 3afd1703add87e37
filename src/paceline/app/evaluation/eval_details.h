#pragma once

#include "paceline/metrics/class_counts.h"
#include "paceline/train/tasks/sample_records.h"

#include <cstdint>
#include <vector>

namespace paceline::app {

/// How many samples of a class were told as another.
struct Confusion {
  std::int64_t label = 0;
  std::int64_t told = 0;
  std::int64_t count = 0;
};

/// The confusions of two classes that happened most, by their counts; of equal ones by label.
std::vector<Confusion> top_confusions(const train::SampleRecords& records, std::int64_t most);

/// How many samples (of all labels) were told as each class, row by row: [classes][classes].
std::vector<std::vector<std::int64_t>> confusion_matrix(const train::SampleRecords& records,
                                                        std::int64_t num_classes);

/// The classes with samples of the lowest recall, as labels; of equal ones first those with more
/// samples.
std::vector<std::int64_t> worst_classes(const std::vector<metrics::ClassCount>& classes,
                                        std::int64_t most);

/// What was told of one sample.
struct SampleFacts {
  std::int64_t index = 0;  ///< in the data set
  std::int64_t label = 0;
  std::int64_t told = 0;
  double probability = 0;  ///< of what was told
  double loss = 0;

  bool is_right() const { return told == label; }
};

/// Row `row` of the records.
SampleFacts sample_at(const train::SampleRecords& records, std::int64_t row);

/// The samples with a label whose loss is highest.
std::vector<SampleFacts> worst_samples(const train::SampleRecords& records, std::int64_t most);

/// Samples whose told class was about as probable.
struct CalibrationBin {
  double from = 0;  ///< of the probability
  double to = 0;
  std::int64_t samples = 0;
  double confidence = 0;  ///< mean probability; 0 without samples
  double accuracy = 0;    ///< share that is right; 0 without samples
};

/// Of metrics::kCalibrationBins equal intervals, of samples with a label.
std::vector<CalibrationBin> calibration_bins(const train::SampleRecords& records);

/// By how much confidence and accuracy differ, on average over the samples; NaN without any.
double calibration_error(const std::vector<CalibrationBin>& bins);

}  // namespace paceline::app
