#pragma once

#include "paceline/nn/losses.h"

#include <array>
#include <optional>

namespace paceline::nn {

/// Whether a sample is of one class, or each class is told for itself.
enum class FocalOver { kSoftmax, kSigmoid };

struct FocalConfig {
  double gamma = 2.0;
  FocalOver over = FocalOver::kSoftmax;
  double label_smoothing = 0.0;
  std::optional<double> alpha = {};
  std::vector<double> class_weights = {};
  bool balance_classes = false;  ///< whoever makes the loss fills class_weights in
};

/// Cross entropy in which what is told well counts less: with p the probability of what is wanted,
/// (1 - p)^gamma times -log p. By the softmax of the logits, weighted by the targets and summed
/// over the classes; or by the sigmoid of each, summed over the classes, as
/// torchvision.ops.sigmoid_focal_loss.
/// Paper: Lin et al., "Focal loss for dense object detection", ICCV 2017.
class Focal final : public Loss {
 public:
  explicit Focal(const FocalConfig& config) : config_(config), weights_(config.class_weights) {}
  at::Tensor per_sample(const at::Tensor& outputs, const at::Tensor& targets) const override;
  bool compares_each_class() const override { return config_.over == FocalOver::kSigmoid; }
  void check_num_outputs(std::int64_t num_outputs) const override {
    weights_.check_num_classes(num_outputs);
  }

 private:
  at::Tensor of_softmax(const at::Tensor& logits, const at::Tensor& wanted) const;
  at::Tensor of_sigmoid(const at::Tensor& logits, const at::Tensor& wanted) const;

  FocalConfig config_;
  ClassWeights weights_;
};

std::unique_ptr<Loss> make(const FocalConfig& config);

}  // namespace paceline::nn

template <>
struct paceline::config::EnumNames<paceline::nn::FocalOver> {
  static constexpr std::array names{EnumName{paceline::nn::FocalOver::kSoftmax, "softmax"},
                                    EnumName{paceline::nn::FocalOver::kSigmoid, "sigmoid"}};
};

template <>
struct paceline::config::Schema<paceline::nn::FocalConfig> {
  using Config = paceline::nn::FocalConfig;
  static constexpr std::string_view name = "focal";
  static constexpr std::string_view summary =
      "Cross entropy in which samples that are told well count less.";
  static constexpr std::string_view paper = "Lin et al., 2017";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{field(&Config::gamma, "gamma", "How much less; 0: as much as others.", AtLeast{0},
                       AtMost{100, "nothing would be learnt"}),
                 field(&Config::over, "over",
                       "softmax: one class of a sample; sigmoid: each class for itself, summed (as "
                       "torchvision)."),
                 nn::label_smoothing_field<Config>(),
                 field(&Config::alpha, "alpha",
                       "With sigmoid, the weight of the classes that are to be 1; of the others it "
                       "is 1 - alpha. null: 1 for both.",
                       InRange{0, 1})},
      nn::class_weights_fields<Config>());
  static void validate(const Config& config, Problems& problems) {
    if (config.alpha && config.over != nn::FocalOver::kSigmoid)
      problems.add("alpha",
                   "weighs classes that are to be 0, which only sigmoid has: write over: "
                   "sigmoid, or weigh classes by class_weights");
  }
};
