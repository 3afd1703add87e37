#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <vector>

namespace paceline::metrics {

/// Of a batch's samples, by class: how many are of it, were told as it, and both: int64 [3, C]
/// beside the logits, without waiting for a device. They add up. Logits and labels as in
/// count_top_k(); a sample is told as the class of its largest logit, the first of equal ones.
at::Tensor count_classes(const at::Tensor& logits, const at::Tensor& labels);

/// How many samples of each class (row) were told as each (column): int64 [C, C], likewise.
at::Tensor count_confusions(const at::Tensor& logits, const at::Tensor& labels);

/// What is counted of one class.
struct ClassCount {
  std::int64_t samples = 0;
  std::int64_t told = 0;     ///< samples that were told as it
  std::int64_t correct = 0;  ///< of both

  /// Of what was told as it, and of its samples: 0 where there are none.
  double precision() const;
  double recall() const;
  /// The harmonic mean of both.
  double f1() const;
  /// Whether it occurs at all.
  bool occurs() const { return samples + told > 0; }
};

/// Of count_classes(), in host memory.
std::vector<ClassCount> class_counts(const at::Tensor& counts);

/// How a number of each class becomes one of all: their mean over the classes that occur, or
/// weighted by their samples.
enum class Average { kMacro, kWeighted };

/// Of ClassCount::precision, recall or f1, as scikit-learn and torchmetrics average. NaN if there
/// is nothing to average.
double average(const std::vector<ClassCount>& classes, double (ClassCount::*score)() const,
               Average how);

/// The mean recall of the classes that have samples. NaN if none has.
double balanced_accuracy(const std::vector<ClassCount>& classes);

}  // namespace paceline::metrics
