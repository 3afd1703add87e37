#pragma once

#include "paceline/nn/losses.h"
#include "paceline/train/eval_measure.h"
#include "paceline/train/tasks/measure_parts.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::train {

/// What a sample's logits [size, num_classes] give each class for itself: their sigmoid in float32,
/// or in float64 if they are.
at::Tensor class_set_probabilities(const at::Tensor& logits);

/// The logits, and the targets [size, num_classes] of a batch whose samples may be of several
/// classes.
Told read_class_sets(const tensor::Fields& outputs, const Batch& batch);

/// What is wrong with the name of a metric of multi_label, or nothing.
std::optional<std::string> wrong_multi_label_metric(const std::string& name);

/// Measures the metrics of these names, which are sound, as torchmetrics' Multilabel ones do: the
/// averages `precision_`, `recall_` and `f1_` `micro`, `macro` (over all classes) and `weighted`;
/// `label_accuracy`; `auroc` and `average_precision` of each class, averaged over those for which
/// they are defined; percentiles `loss_p<percent>` of the samples' losses. With `classes`, a table
/// of them too. A class is told where its probability is above the threshold. The loss must outlive
/// it.
std::unique_ptr<EvalMeasure> make_multi_label_measure(const std::vector<std::string>& names,
                                                      const nn::Loss& loss, double threshold,
                                                      bool classes);

}  // namespace paceline::train
