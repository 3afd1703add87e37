#pragma once

#include "paceline/optim/config_fields.h"
#include "paceline/optim/optimizer.h"
#include "paceline/optim/optimizer_plan.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace paceline::optim {

/// What a matrix of A rows and B columns multiplies the learning rate by.
enum class MuonScale {
  kOriginal,    ///< sqrt(max(1, A / B))
  kMatchAdamW,  ///< 0.2 * sqrt(max(A, B)), so that a learning rate meant for AdamW fits
};

struct MuonConfig {
  double lr = 1e-3;
  double momentum = 0.95;
  bool nesterov = true;
  MuonScale adjust_lr = MuonScale::kOriginal;
  int num_iterations = 5;
  double eps = 1e-7;
  double adamw_beta1 = 0.9;
  double adamw_beta2 = 0.999;
  double adamw_eps = 1e-8;
  std::vector<std::string> adamw = {"pos_embed", "cls_token", "head.weight", "fc.weight"};
  double weight_decay = 0.1;
  bool decay_norm_and_bias = false;
  std::vector<std::string> no_decay = embedding_names();
  std::map<std::string, double> lr_scale = {};
  std::map<std::string, double> decay_scale = {};
  double layer_decay = 1.0;
};

/// The orthogonal matrix nearest to `matrix` [A, B] but for singular values between 0.5 and 1.5, in
/// bfloat16: `num_iterations` of a quintic Newton-Schulz iteration, as torch.optim.Muon computes
/// it.
at::Tensor orthogonalise(const at::Tensor& matrix, int num_iterations, double eps);

/// Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024, as
/// torch.optim.Muon: weights with two or more dimensions step along an orthogonal matrix
/// (convolutions as [outputs, all else]); all else, and what `config.adamw` names, steps as
/// torch.optim.AdamW. Where ranks share a matrix each computes some of them and gets the others.
std::unique_ptr<Optimizer> make_optimizer(const MuonConfig& config, std::vector<ParamGroup> groups,
                                          const ParameterShards& shards = {});
std::unique_ptr<OptimizerPlan> make(const MuonConfig& config);

}  // namespace paceline::optim

template <>
struct paceline::config::EnumNames<paceline::optim::MuonScale> {
  using Scale = paceline::optim::MuonScale;
  static constexpr std::array names{EnumName{Scale::kOriginal, "original"},
                                    EnumName{Scale::kMatchAdamW, "match_rms_adamw"}};
};

template <>
struct paceline::config::Schema<paceline::optim::MuonConfig> {
  using Config = paceline::optim::MuonConfig;
  static constexpr std::string_view name = "muon";
  static constexpr std::string_view summary =
      "Orthogonal steps for matrices, AdamW for all other parameters.";
  static constexpr std::string_view paper = "Jordan et al., 2024";
  static constexpr auto fields = std::tuple_cat(
      std::tuple{
          optim::lr_field<Config>(),
          field(&Config::momentum, "momentum", "Momentum factor of matrices.", AtLeast{0.0},
                LessThan{1.0}),
          field(&Config::nesterov, "nesterov", "Nesterov momentum.", MayChangeOnResume{}),
          field(&Config::adjust_lr, "adjust_lr",
                "How a matrix of A rows and B columns scales the learning rate: original, by "
                "sqrt(max(1, A / B)), or match_rms_adamw, by 0.2 * sqrt(max(A, B)), which suits "
                "learning rates meant for AdamW.",
                MayChangeOnResume{}),
          field(&Config::num_iterations, "num_iterations", "Newton-Schulz iterations.", AtLeast{1},
                AtMost{99}, MayChangeOnResume{}),
          optim::eps_field<Config>("Least norm of a matrix."),
          optim::decay_field(&Config::adamw_beta1, "adamw_beta1",
                             "AdamW's decay of the mean of gradients."),
          optim::decay_field(&Config::adamw_beta2, "adamw_beta2",
                             "AdamW's decay of the mean of squares."),
          field(&Config::adamw_eps, "adamw_eps", "Added to AdamW's denominator.", AtLeast{1e-30},
                AtMost{1, "nothing would be left of a step"}, MayChangeOnResume{}),
          field(&Config::adamw, "adamw",
                "Parameters with two or more dimensions that step as AdamW all the same: their "
                "last names, or whole names with * and ?.")},
      optim::group_fields<Config>("Weight decay, times the learning rate."));
};
