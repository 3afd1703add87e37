#include "paceline/models/new_part/new_part.h"
#include "paceline/nn/init.h"

namespace paceline::models {

NewPart::NewPart(const NewPartConfig& config) {
  head_ = register_module("head", std::make_shared<nn::Linear>(3, config.num_classes));
}

at::Tensor NewPart::forward_images(const at::Tensor& images, const nn::ForwardContext&) {
  return head_->forward(images.mean({2, 3}));
}

void NewPart::initialize_parameter(const nn::NamedTensor& parameter,
                                   const tensor::DrawKey& key) const {
  if (parameter.name == "head.weight") {
    nn::default_weight(parameter.tensor, key);
  } else {
    nn::default_bias(parameter.tensor, head_->weight, key);
  }
}

double NewPart::flops_per_image(std::int64_t /*height*/, std::int64_t /*width*/) const {
  return head_->flops();
}

std::unique_ptr<nn::Network> make(const NewPartConfig& config) {
  return std::make_unique<NewPart>(config);
}

}  // namespace paceline::models
