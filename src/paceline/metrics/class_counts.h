#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace paceline::metrics {

/// Of a batch's samples, by class: how many are of it, were told as it, and both: int64 [3, C]
/// beside the logits, without waiting for a device. They add up. Logits and labels as in
/// count_top_k(); a sample is told as the class of its largest logit, the first of equal ones.
at::Tensor count_classes(const at::Tensor& logits, const at::Tensor& labels);

/// The same where a sample may be of any number of classes: bool [N, C], of which it is and as
/// which it was told.
at::Tensor count_class_sets(const at::Tensor& wanted, const at::Tensor& told);

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

/// How a number of each class becomes one of all.
enum class Average {
  kMacro,       ///< their mean over the classes that occur
  kMacroOfAll,  ///< ... over all, of which one that does not occur has 0
  kWeighted,    ///< weighted by their samples
  kMicro,       ///< that of all classes' counts together
};

/// A number that is told of all classes, and its name.
struct ClassAverage {
  std::string_view name;
  double (ClassCount::*score)() const = nullptr;
  Average how = Average::kMacro;
};

/// The one of this name, or null.
const ClassAverage* find_average(std::span<const ClassAverage> averages, std::string_view name);

/// As scikit-learn and torchmetrics average. NaN if there is nothing to average.
double average(const std::vector<ClassCount>& classes, const ClassAverage& average);

/// Where each of these samples may be of any number of classes: the share of all decisions, one of
/// each sample and class, that are right. NaN without any.
double label_accuracy(const std::vector<ClassCount>& classes, std::int64_t samples);

/// The mean recall of the classes that have samples. NaN if none has.
double balanced_accuracy(const std::vector<ClassCount>& classes);

}  // namespace paceline::metrics
