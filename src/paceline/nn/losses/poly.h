#pragma once

#include "paceline/nn/losses.h"

namespace paceline::nn {

struct PolyConfig {
  double epsilon = 1.0;
  double label_smoothing = 0.0;
};

/// Cross entropy whose first polynomial coefficient is another: it and epsilon * (1 - p), with p
/// the probability that the softmax gives what is wanted (Poly-1).
/// Paper: Leng et al., "PolyLoss", ICLR 2022.
class Poly final : public Loss {
 public:
  explicit Poly(const PolyConfig& config) : config_(config) {}
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;

 private:
  PolyConfig config_;
};

std::unique_ptr<Loss> make(const PolyConfig& config);

}  // namespace paceline::nn

template <>
struct paceline::config::Schema<paceline::nn::PolyConfig> {
  using Config = paceline::nn::PolyConfig;
  static constexpr std::string_view name = "poly";
  static constexpr std::string_view summary =
      "Softmax cross entropy with another first polynomial coefficient (Poly-1).";
  static constexpr std::string_view paper = "Leng et al., 2022";
  static constexpr auto fields =
      std::tuple{field(&Config::epsilon, "epsilon",
                       "What is added to the coefficient, which is 1 in cross entropy.",
                       AtLeast{-1}, AtMost{1000, "no weights survive a step"}),
                 nn::label_smoothing_field<Config>()};
};
