#pragma once

#include "paceline/nn/losses.h"
#include "paceline/train/eval_measure.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::train {

/// What is wrong with the name of a metric of classification, or nothing.
std::optional<std::string> wrong_classification_metric(const std::string& name);

/// Measures the metrics of these names, which are sound, by the logits among the outputs and the
/// labels: `top<k>`; the averages `precision_`, `recall_` and `f1_` `macro` and `weighted`;
/// `balanced_accuracy`; `ece`; `auroc` and `average_precision` of each class against all others,
/// averaged; and percentiles `loss_p<percent>` of the samples' losses. With `classes`, a table of
/// them too. The loss must outlive it.
std::unique_ptr<EvalMeasure> make_classification_measure(const std::vector<std::string>& names,
                                                         const nn::Loss& loss, bool classes);

}  // namespace paceline::train
