#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/linear.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

namespace paceline::models {

struct NewPartConfig {
  std::int64_t num_classes = 1000;
};

/// One linear layer on the means of the three channels: say here what it is, and name the paper.
class NewPart : public nn::ImageNetwork {
 public:
  explicit NewPart(const NewPartConfig& config);

  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext& context) override;
  void initialize_parameter(const nn::NamedTensor& parameter,
                            const tensor::DrawKey& key) const override;
  double flops_per_image(std::int64_t height, std::int64_t width) const override;
  std::vector<std::string> head_names() const override { return {"head"}; }

 private:
  std::shared_ptr<nn::Linear> head_;
};

std::unique_ptr<nn::Network> make(const NewPartConfig& config);

}  // namespace paceline::models

template <>
struct paceline::config::Schema<paceline::models::NewPartConfig> {
  using Config = models::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence what network this is.";
  static constexpr auto fields =
      std::tuple{field(&Config::num_classes, "num_classes", "Outputs of the classifier.",
                       AtLeast{1}, AtMost{10'000'000, "no classifier has more outputs"})};
};
