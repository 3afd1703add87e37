#pragma once

#include "paceline/config/schema.h"

#include <string_view>
#include <tuple>

namespace paceline::optim {

/// The fields of every optimizer's Config that say how fast parameters move, and which decay, as
/// plan_of() reads them. `decay_help` says what weight_decay does.
template <class Config>
constexpr auto group_fields(std::string_view decay_help) {
  using namespace config;
  return std::tuple{
      field(&Config::weight_decay, "weight_decay", decay_help, AtLeast{0.0},
            AtMost{1000, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::decay_norm_and_bias, "decay_norm_and_bias",
            "Decay norms and biases too, as torch.optim does."),
      field(&Config::no_decay, "no_decay",
            "Further parameters without decay: their last names, or whole names with * and ? "
            "('blocks.*.gamma'); cls_token stands for dist_token and reg_token, too."),
      field(&Config::lr_scale, "lr_scale",
            "Factors on the learning rate by part: {head: 10, 'blocks.*': 0.1}; parts are named as "
            "in model.freeze, and of several that hold a parameter the most exact one counts.",
            AtLeast{0.0}, AtMost{1e6, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::decay_scale, "decay_scale",
            "Factors on weight_decay by part, as lr_scale has parts: with {'*.bias': 0.1} and the "
            "same part's lr_scale at 10, biases learn faster and decay no faster.",
            AtLeast{0.0}, AtMost{1e6, "no weights survive a step"}, MayChangeOnResume{}),
      field(&Config::layer_decay, "layer_decay",
            "Learning rate of each layer over that of the next: of the stem, each block, and the "
            "head, whose factor is 1; as timm's, such as 0.75 to fine-tune a ViT. Factors of "
            "lr_scale count besides.",
            MoreThan{0.0}, AtMost{1}, MayChangeOnResume{})};
}

template <class Config>
constexpr auto lr_field() {
  using namespace config;
  return field(&Config::lr, "lr", "Base learning rate.", AtLeast{0.0},
               AtMost{1e06, "no weights survive a step"}, MayChangeOnResume{});
}

/// Of a mean over steps: "Decay of the mean of gradients."
template <class Config>
constexpr auto decay_field(double Config::*member, std::string_view name, std::string_view help) {
  using namespace config;
  return field(member, name, help, AtLeast{0.0}, LessThan{1.0}, MayChangeOnResume{});
}

template <class Config>
constexpr auto eps_field(std::string_view help) {
  using namespace config;
  return field(&Config::eps, "eps", help, AtLeast{1e-30},
               AtMost{1, "nothing would be left of a step"}, MayChangeOnResume{});
}

/// What SGD and its kin share, the learning rate first.
template <class Config>
constexpr auto momentum_fields() {
  using namespace config;
  return std::tuple{
      lr_field<Config>(),
      field(&Config::momentum, "momentum", "Momentum factor.", InRange{0.0, 1.0}),
      field(&Config::dampening, "dampening", "Share of the gradient kept out of the momentum.",
            InRange{0.0, 1.0}, MayChangeOnResume{}),
      field(&Config::nesterov, "nesterov", "Nesterov momentum.", MayChangeOnResume{})};
}

/// What Adam and its kin share, the learning rate first.
template <class Config>
constexpr auto adam_fields() {
  return std::tuple{lr_field<Config>(),
                    decay_field(&Config::beta1, "beta1", "Decay of the mean of gradients."),
                    decay_field(&Config::beta2, "beta2", "Decay of the mean of squares."),
                    eps_field<Config>("Added to the denominator.")};
}

}  // namespace paceline::optim
