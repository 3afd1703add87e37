#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/linear.h"
#include "paceline/nn/module_tree.h"
#include "paceline/tensor/draws.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace paceline::nn {

/// What a classifier makes of its features.
enum class HeadKind {
  kLinear,  ///< a linear layer
  kMlp,     ///< a linear layer as wide as the features, GELU, and one to the classes
  kNone,    ///< nothing: the network gives out its features
};

/// The last layer of a classifier, with the names of torch.nn.Linear (`weight` and `bias`), or, of
/// an MLP, `fc1` and `fc2` with these below them.
class Head : public torch::nn::Module {
 public:
  Head(std::int64_t features, std::int64_t num_classes, HeadKind kind, bool has_bias = true);

  /// [N, features] to [N, num_classes], or to what it was.
  at::Tensor forward(const at::Tensor& features) const;
  /// Counts one row.
  void count(LayerCosts& costs) const;
  HeadKind kind() const { return kind_; }
  /// Of a linear head, of one with factors the second's; undefined in others.
  const at::Tensor& weight() const { return weight_; }
  /// As Linear's, of a linear head.
  void factorize(std::int64_t latent);
  /// The first factor; null if there are none.
  const std::shared_ptr<Linear>& to_latent() const { return to_latent_; }

  /// Gives a parameter of an MLP, in a network whose head has this name, what torch.nn.Linear draws
  /// by default; false for any other parameter, whose values the network knows.
  bool initialize_mlp(const std::string& name, const NamedTensor& parameter,
                      const tensor::DrawKey& key) const;

 private:
  HeadKind kind_;
  at::Tensor weight_;
  at::Tensor bias_;
  std::shared_ptr<Linear> to_latent_;
  std::shared_ptr<Linear> fc1_;
  std::shared_ptr<Linear> fc2_;
};

}  // namespace paceline::nn

template <>
struct paceline::config::EnumNames<paceline::nn::HeadKind> {
  static constexpr std::array names{
      EnumName{paceline::nn::HeadKind::kLinear, "linear"},
      EnumName{paceline::nn::HeadKind::kMlp, "mlp"},
      EnumName{paceline::nn::HeadKind::kNone, "none"},
  };
};
