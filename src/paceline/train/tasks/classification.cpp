#include "paceline/train/tasks/classification.h"

#include "paceline/base/error.h"
#include "paceline/metrics/classification.h"
#include "paceline/nn/network_parts.h"

#include <fmt/format.h>

namespace paceline::train {

const at::Tensor& targets_of(const Batch& batch) {
  const at::Tensor* const targets = batch.fields.find(kTargets);
  return targets != nullptr ? *targets : batch.fields.at(kLabels);
}

ClassificationTask::ClassificationTask(std::shared_ptr<nn::Network> network,
                                       std::shared_ptr<nn::Loss> loss)
    : Task(std::move(network)), loss_(std::move(loss)) {}

void ClassificationTask::check_samples(const SampleFacts& samples) const {
  if (!samples.sizes.contains(kLabels))
    throw base::ConfigError("task classification needs a data set with labels, one for a sample");
  static_cast<void>(network().flops_per_sample(samples.sizes));  // throws for what it does not take
  const auto num_outputs = nn::num_outputs(network());
  if (!num_outputs || samples.num_classes.value_or(0) <= *num_outputs) return;
  throw base::DataError(fmt::format(
      "the data set has {0} classes, so labels run to {1}, but model.num_classes is {2}: a label "
      "is out of range; set model.num_classes to {0}",
      *samples.num_classes, *samples.num_classes - 1, *num_outputs));
}

tensor::Fields ClassificationTask::forward(const Batch& batch, const nn::ForwardContext& context) {
  return {{std::string(kLogits), network().forward(batch.fields, context)}};
}

at::Tensor ClassificationTask::loss(const tensor::Fields& outputs, const Batch& batch) {
  return loss_->sum(outputs.at(kLogits), targets_of(batch));
}

tensor::Fields ClassificationTask::predict(const Batch& batch, const nn::ForwardContext& context) {
  const at::Tensor logits = network().forward(batch.fields, context);
  const bool is_double = logits.scalar_type() == at::kDouble;
  return {{"probabilities", at::softmax(logits, 1, is_double ? at::kDouble : at::kFloat)}};
}

at::Tensor ClassificationTask::sums(const tensor::Fields& outputs, const Batch& batch) {
  return metrics::count_top_k(outputs.at(kLogits).detach(), batch.fields.at(kLabels));
}

std::unique_ptr<Task> make(const ClassificationConfig&, TaskParts& parts) {
  return std::make_unique<ClassificationTask>(parts.make_network(), parts.make_loss());
}

}  // namespace paceline::train
