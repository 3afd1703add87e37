#pragma once

#include "paceline/nn/losses.h"
#include "paceline/train/train_model.h"

#include <array>
#include <memory>
#include <string>

namespace paceline::train {

/// Image classification: a network that gives logits, a loss, top-1 and top-5.
class ClassificationModel final : public TrainModel {
 public:
  ClassificationModel(std::shared_ptr<nn::Network> network, std::shared_ptr<nn::Loss> loss);

  nn::Network& network() override { return *network_; }
  at::Tensor forward(const Batch& batch, const nn::ForwardContext& context) override;
  at::Tensor loss(const at::Tensor& outputs, const Batch& batch) override;
  std::span<const std::string> count_names() const override;
  at::Tensor count(const at::Tensor& outputs, const Batch& batch) override;
  void set_training(bool is_training) override;

 private:
  std::shared_ptr<nn::Network> network_;
  std::shared_ptr<nn::Loss> loss_;
  std::array<std::string, 2> count_names_{"top1", "top5"};
};

}  // namespace paceline::train
