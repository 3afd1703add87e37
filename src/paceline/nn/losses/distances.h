#pragma once

#include "paceline/nn/losses.h"

namespace paceline::nn {

struct MseConfig {};
struct L1Config {};
struct HuberConfig {
  double delta = 1.0;
};

/// Distances of outputs from targets, averaged over the elements of a sample: of values as they
/// are, floating targets of the outputs' size [N, ...], or of class indices, whose values are 1 for
/// the class and 0 for all others. As torch.nn.MSELoss, L1Loss and HuberLoss.
class Mse final : public Loss {
 public:
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;
  bool compares_each_class() const override { return true; }
};

class L1 final : public Loss {
 public:
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;
  bool compares_each_class() const override { return true; }
};

/// Half the square up to delta, and linear beyond.
/// Paper: Huber, "Robust estimation of a location parameter", 1964.
class Huber final : public Loss {
 public:
  explicit Huber(const HuberConfig& config) : config_(config) {}
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;
  bool compares_each_class() const override { return true; }

 private:
  HuberConfig config_;
};

std::unique_ptr<Loss> make(const MseConfig& config);
std::unique_ptr<Loss> make(const L1Config& config);
std::unique_ptr<Loss> make(const HuberConfig& config);

}  // namespace paceline::nn

template <>
struct paceline::config::Schema<paceline::nn::MseConfig> {
  static constexpr std::string_view name = "mse";
  static constexpr std::string_view summary = "Mean squared distance of outputs from targets.";
  static constexpr auto fields = std::tuple{};
};

template <>
struct paceline::config::Schema<paceline::nn::L1Config> {
  static constexpr std::string_view name = "l1";
  static constexpr std::string_view summary = "Mean absolute distance of outputs from targets.";
  static constexpr auto fields = std::tuple{};
};

template <>
struct paceline::config::Schema<paceline::nn::HuberConfig> {
  using Config = paceline::nn::HuberConfig;
  static constexpr std::string_view name = "huber";
  static constexpr std::string_view summary =
      "Half the squared distance where it is small, and linear beyond.";
  static constexpr std::string_view paper = "Huber, 1964";
  static constexpr auto fields =
      std::tuple{field(&Config::delta, "delta", "Up to which distance it is the square.",
                       MoreThan{0}, AtMost{1e30, "float32 ends at 3e38"})};
};
