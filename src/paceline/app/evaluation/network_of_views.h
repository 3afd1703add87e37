#pragma once

#include "paceline/nn/network.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace paceline::app {

/// What NetworkOfViews makes logits by.
struct LogitViews {
  bool flip = false;       ///< each image's mirror image, too
  std::int64_t shift = 0;  ///< pixels: see with_shifts()
  double temperature = 1;  ///< what logits are divided by
  /// Of the network that stay, in order: one or more for each class that there is to be. The logit
  /// of several is that of the mean of their probabilities, log(mean(exp(logits))), as the category
  /// of 16 has it in Geirhos et al., "ImageNet-trained CNNs are biased towards texture", 2019.
  std::optional<std::vector<std::vector<std::int64_t>>> classes = {};
};

/// The images [N, C, H, W], and the same moved so many pixels down and right, and up and left; what
/// comes in at the edges is mirrored. With weights of a half and twice a quarter the views of
/// airbench94 (Jordan, 2024). Throws ConfigError for images that are no larger than the shift.
std::vector<at::Tensor> with_shifts(const at::Tensor& images, std::int64_t shift);

/// A classifier whose logits [N, classes] are the mean of another's over the views of a sample: its
/// images, kCornerFields of it where there are some, and mirror images. Owns no parameters of its
/// own; the other's are in the modes that it is in.
class NetworkOfViews final : public nn::Network {
 public:
  /// Throws ConfigError for a class that the network has no output for.
  NetworkOfViews(std::shared_ptr<nn::Network> network, LogitViews views);

  at::Tensor forward(const tensor::Fields& inputs, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override {
    network_->initialize_parameter(parameter, key);
  }
  /// Of one view.
  double flops_per_sample(const nn::SampleSizes& sizes) const override {
    return network_->flops_per_sample(sizes);
  }

 private:
  std::shared_ptr<nn::Network> network_;
  LogitViews views_;
};

}  // namespace paceline::app
