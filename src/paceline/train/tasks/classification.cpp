#include "paceline/train/tasks/classification.h"

#include "paceline/base/error.h"
#include "paceline/metrics/classification.h"
#include "paceline/nn/network_parts.h"

#include <fmt/format.h>

namespace paceline::train {
namespace {

/// What a loss compares are views of one sample, which the sampler has to see to.
void check_views(const Batch& batch, int num_views) {
  if (num_views == 1) return;
  for (std::size_t row = 0; row < batch.indices.size(); ++row) {
    if (batch.indices[row] == batch.indices[row - row % static_cast<std::size_t>(num_views)])
      continue;
    throw base::ConfigError(fmt::format(
        "loss.num_views: {0} consecutive samples are to be views of one, and these are others: "
        "write data.sampler={{name: repeated_augmentation, repeats: {0}}}",
        num_views));
  }
}

}  // namespace

const at::Tensor& targets_of(const Batch& batch) {
  const at::Tensor* const targets = batch.fields.find(kTargets);
  return targets != nullptr ? *targets : batch.fields.at(kLabels);
}

at::Tensor class_probabilities(const at::Tensor& logits) {
  const bool is_double = logits.scalar_type() == at::kDouble;
  return at::softmax(logits, 1, is_double ? at::kDouble : at::kFloat);
}

ClassificationTask::ClassificationTask(std::shared_ptr<nn::Network> network,
                                       std::shared_ptr<nn::Loss> loss,
                                       std::vector<std::string> eval_metrics)
    : Task(std::move(network)), loss_(std::move(loss)), eval_metrics_(std::move(eval_metrics)) {}

void ClassificationTask::check_samples(const SampleFacts& samples) const {
  if (!samples.sizes.contains(kLabels))
    throw base::ConfigError("task classification needs a data set with labels, one for a sample");
  check_logits(samples);
}

void ClassificationTask::check_logits(const SampleFacts& samples) const {
  static_cast<void>(network().flops_per_sample(samples.sizes));  // throws for what it does not take
  if (network().gives_features()) {
    throw base::ConfigError(
        "model.head: none gives out features, and the task tells classes by logits: choose linear "
        "or mlp, or a task that takes features");
  }
  const auto num_outputs = nn::num_outputs(network());
  if (num_outputs && samples.num_classes)  // else they may follow data that nobody has asked yet
    loss_->check_num_outputs(*num_outputs);
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
  check_views(batch, loss_->num_views());
  return loss_->sum(outputs.at(kLogits), targets_of(batch));
}

tensor::Fields ClassificationTask::predict(const Batch& batch, const nn::ForwardContext& context) {
  return {{"probabilities", class_probabilities(network().forward(batch.fields, context))}};
}

std::unique_ptr<EvalMeasure> ClassificationTask::measure_evaluation(bool classes) const {
  return make_classification_measure(eval_metrics_, *loss_, classes);
}

Task::Evaluated ClassificationTask::evaluate(const Batch& batch,
                                             const nn::ForwardContext& context) {
  tensor::Fields outputs = forward(batch, context);
  at::Tensor loss = loss_->of_evaluation().sum(outputs.at(kLogits), targets_of(batch));
  at::Tensor counts = sums(outputs, batch);
  return {std::move(loss), std::move(counts), std::move(outputs)};
}

at::Tensor ClassificationTask::sums(const tensor::Fields& outputs, const Batch& batch) {
  return metrics::count_top_k(outputs.at(kLogits).detach(), batch.fields.at(kLabels));
}

std::unique_ptr<Task> make(const ClassificationConfig& config, TaskParts& parts) {
  return std::make_unique<ClassificationTask>(parts.make_network(), parts.make_loss(),
                                              config.metrics);
}

}  // namespace paceline::train
