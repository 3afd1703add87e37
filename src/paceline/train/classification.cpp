#include "paceline/train/classification.h"

#include "paceline/base/error.h"
#include "paceline/metrics/classification.h"

namespace paceline::train {

const at::Tensor& targets_of(const Batch& batch) {
  const at::Tensor* const targets = batch.fields.find(kTargets);
  return targets != nullptr ? *targets : batch.fields.at(kLabels);
}

ClassificationTask::ClassificationTask(std::shared_ptr<nn::Network> network,
                                       std::shared_ptr<nn::Loss> loss)
    : network_(std::move(network)), loss_(std::move(loss)) {}

void ClassificationTask::check_fields(const nn::SampleSizes& sizes) {
  if (!sizes.contains(kLabels))
    throw base::ConfigError("task classification needs a data set with labels, one for a sample");
  static_cast<void>(network_->flops_per_sample(sizes));  // throws for sizes that it does not take
}

tensor::Fields ClassificationTask::forward(const Batch& batch, const nn::ForwardContext& context) {
  return {{std::string(kLogits), network_->forward(batch.fields, context)}};
}

at::Tensor ClassificationTask::loss(const tensor::Fields& outputs, const Batch& batch) {
  return loss_->sum(outputs.at(kLogits), targets_of(batch));
}

at::Tensor ClassificationTask::sums(const tensor::Fields& outputs, const Batch& batch) {
  return metrics::count_top_k(outputs.at(kLogits).detach(), batch.fields.at(kLabels));
}

std::unique_ptr<Task> make(const ClassificationConfig&, const TaskParts& parts) {
  return std::make_unique<ClassificationTask>(parts.make_network(), parts.make_loss());
}

}  // namespace paceline::train
