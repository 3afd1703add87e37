#pragma once

#include "paceline/tensor/fwd.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace paceline::optim {

/// Puts parameters into a group with hyper-parameters of its own; of several rules the first that
/// matches a parameter wins.
struct GroupRule {
  std::string name;
  double weight_decay = 0.0;
  double lr_scale = 1.0;  ///< multiplies the schedule's learning rate
  std::function<bool(const std::string& name, const at::Tensor& parameter)> matches;
  bool is_matrix = false;  ///< whether optimizers that tell matrices apart update it as one
};

/// The last names of position embeddings and of tokens, which by timm's no_weight_decay() do not
/// decay: optimizers' usual `no_decay_names`. In such lists `cls_token` stands for the tokens of
/// distillation and registers, too (dist_token, reg_token), and `head.weight` for head_dist.weight:
/// runs from before there were any go on.
std::vector<std::string> embedding_names();

/// The rules of common practice: no weight decay for norms and biases (parameters of at most one
/// dimension) and for parameters whose last name is listed, such as embedding_names(), or whose
/// whole name is like a pattern there ("blocks.*.gamma"); `weight_decay` for all others. With
/// `decay_norm_and_bias` one group of all, as torch.optim does. Source: He et al., "Bag of tricks
/// for image classification", CVPR 2019, section 3.1.
std::vector<GroupRule> weight_decay_rules(double weight_decay, bool decay_norm_and_bias,
                                          std::span<const std::string> no_decay_names);

/// Part of the parameters, with a factor on the learning rate or on weight decay.
struct PartScale {
  std::string name;  ///< of the part
  double factor = 1.0;
  std::function<bool(const std::string& name)> matches;
};

/// The same rules, but with parameters of two or more dimensions in groups of their own, as
/// matrices, unless their last name is listed or their whole name is like a pattern there.
std::vector<GroupRule> matrix_rules(std::span<const GroupRule> rules,
                                    std::span<const std::string> no_matrices);

/// Factors by depth, as timm's layer_decay gives them: 1 for the last layer, which is the head,
/// decay for the one before and for what lies in none, decay^n for the one n before it. A layer is
/// the prefixes of its parameters' names. Paper: Bao et al., "BEiT", ICLR 2022.
std::vector<PartScale> layer_scales(double decay, std::span<const std::vector<std::string>> layers);

/// The same rules, but with parameters of a part in groups of their own, whose learning rate is
/// multiplied by the part's factor. Of several parts that hold a parameter the first wins.
std::vector<GroupRule> scale_learning_rates(std::span<const GroupRule> rules,
                                            std::span<const PartScale> scales);
/// Likewise, but their weight decay is multiplied.
std::vector<GroupRule> scale_weight_decays(std::span<const GroupRule> rules,
                                           std::span<const PartScale> scales);

/// The number of the first rule that matches. Throws ConfigError that names the parameter if none
/// does.
std::size_t match_rule(std::span<const GroupRule> rules, const std::string& name,
                       const at::Tensor& parameter);

}  // namespace paceline::optim
