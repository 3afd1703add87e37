#pragma once

#include "golden/algorithms/golden_values.h"
#include "paceline/nn/losses.h"
#include "paceline/nn/network.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"
#include "support/small_net.h"

#include <memory>
#include <string>

namespace paceline::algorithms {

/// The scripts' images of such a type.
inline at::Tensor golden_images(at::IntArrayRef sizes, const std::string& dtype) {
  const at::Tensor images = paceline::test::wave(sizes, 3).to(at::kFloat);
  return dtype == "bfloat16" ? images.to(at::kBFloat16) : images;
}

/// Their targets of four samples in five classes, class indices or probabilities.
inline at::Tensor golden_targets(const std::string& kind) {
  if (kind == "indices") return at::arange(4) * 3 % 5;
  const at::Tensor values = paceline::test::wave({4, 5}, 40) + 0.6;
  return (values / values.sum(1, true)).to(at::kFloat);
}

/// A network whose output is scripted: what is tested lies before and after it.
class ScriptedLogits final : public nn::Network {
 public:
  at::Tensor forward(const tensor::Fields& /*inputs*/, const nn::ForwardContext&) override {
    return logits;
  }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  double flops_per_sample(const nn::SampleSizes&) const override { return 0; }

  at::Tensor logits = (4.0 * paceline::test::wave({4, 5}, 20)).to(at::kFloat).requires_grad_();
};

/// A step of four such samples.
struct ScriptedStep {
  ScriptedStep(const at::Tensor& images, const std::string& target_kind)
      : targets(golden_targets(target_kind)) {
    state.task =
        std::make_unique<train::ClassificationTask>(network, nn::make(nn::CrossEntropyConfig{}));
    state.batch.size = 4;
    state.batch.fields = {{"images", images}, {"labels", golden_targets("indices")}};
    if (target_kind == "probabilities") state.batch.fields.set("targets", targets);
  }
  void forward() {
    state.outputs = state.task->forward(state.batch, {});
    state.loss = state.task->loss(state.outputs, state.batch);
  }
  /// What the loss gets.
  const at::Tensor& target() const { return train::targets_of(state.batch); }

  std::shared_ptr<ScriptedLogits> network = std::make_shared<ScriptedLogits>();
  at::Tensor targets;  ///< before anything is mixed
  train::TrainState state;
};

}  // namespace paceline::algorithms
