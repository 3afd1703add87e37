#include "paceline/train/tasks/multi_label.h"

#include "paceline/base/error.h"

#include <fmt/format.h>

namespace paceline::train {

namespace {

[[noreturn]] void refuse_single_labels() {
  throw base::ConfigError(
      "task multi_label needs samples with lists of labels, and those of data.name have one label "
      "or none: choose data that have them (docs/datasets.md), or task=classification");
}

}  // namespace

void MultiLabelTask::check_samples(const SampleFacts& samples) const {
  // Samples without any class are there to be predicted.
  if (samples.num_classes.value_or(0) > 0 && !samples.sizes.contains(kTargets))
    refuse_single_labels();
  check_logits(samples);
}

tensor::Fields MultiLabelTask::forward(const Batch& batch, const nn::ForwardContext& context) {
  const at::Tensor* const targets = batch.fields.find(kTargets);
  if (targets == nullptr) refuse_single_labels();
  if (!targets->is_floating_point()) {
    throw base::DataError(
        fmt::format("the field targets holds {}, and task multi_label expects float32 or float16, "
                    "1 for each class of a sample and 0 for the others: convert targets.npy",
                    at::toString(targets->scalar_type())));
  }
  return ClassificationTask::forward(batch, context);
}

tensor::Fields MultiLabelTask::predict(const Batch& batch, const nn::ForwardContext& context) {
  return {{"probabilities", class_set_probabilities(network().forward(batch.fields, context))}};
}

at::Tensor MultiLabelTask::sums(const tensor::Fields& outputs, const Batch& batch) {
  const at::NoGradGuard no_grad;
  const Told told = read_class_sets(outputs, batch);
  const at::Tensor wanted = told.wanted();
  const at::Tensor decided = class_set_probabilities(told.logits).gt(threshold_);
  return at::stack({2 * wanted.logical_and(decided).sum(), wanted.sum() + decided.sum(),
                    wanted.eq(decided).all(1).sum()})
      .to(at::kDouble);
}

std::unique_ptr<EvalMeasure> MultiLabelTask::measure_evaluation(bool classes) const {
  return make_multi_label_measure(eval_metrics(), loss_of_targets(), threshold_, classes);
}

std::unique_ptr<Task> make(const MultiLabelConfig& config, TaskParts& parts) {
  std::shared_ptr<nn::Loss> loss = parts.make_loss();
  if (!loss->compares_each_class()) {
    throw base::ConfigError(
        "loss: task multi_label tells each class for itself, and this loss takes one class a "
        "sample: write loss=binary_cross_entropy, or loss={name: focal, over: sigmoid}");
  }
  return std::make_unique<MultiLabelTask>(parts.make_network(), std::move(loss), config);
}

}  // namespace paceline::train
