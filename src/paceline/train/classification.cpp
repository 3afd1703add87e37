#include "paceline/train/classification.h"

#include "paceline/metrics/classification.h"

namespace paceline::train {

ClassificationModel::ClassificationModel(std::shared_ptr<nn::Network> network,
                                         std::shared_ptr<nn::Loss> loss)
    : network_(std::move(network)), loss_(std::move(loss)) {}

at::Tensor ClassificationModel::forward(const Batch& batch, const nn::ForwardContext& context) {
  return network_->forward(batch.inputs, context);
}

at::Tensor ClassificationModel::loss(const at::Tensor& outputs, const Batch& batch) {
  return loss_->sum(outputs, batch.targets);
}

std::span<const std::string> ClassificationModel::count_names() const { return count_names_; }

at::Tensor ClassificationModel::count(const at::Tensor& outputs, const Batch& batch) {
  return metrics::count_top_k(outputs.detach(), batch.targets);
}

void ClassificationModel::set_training(bool is_training) { network_->train(is_training); }

}  // namespace paceline::train
