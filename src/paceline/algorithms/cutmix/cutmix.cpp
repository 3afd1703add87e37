#include "paceline/algorithms/cutmix/cutmix.h"

#include "paceline/algorithms/mixup/mixup.h"
#include "paceline/base/error.h"

#include <cmath>

namespace paceline::algorithms {
namespace {

void check_goes_with(const MixupConfig& mixup, const CutmixConfig& cutmix) {
  if (cutmix.with_mixup == Turns::kSwitch && mixup.group != cutmix.group) {
    throw base::ConfigError(
        "algorithms.cutmix.group: cutmix and mixup take turns, which are drawn for a group of "
        "samples: give algorithms.mixup.group and algorithms.cutmix.group the same value, or write "
        "algorithms.cutmix.with_mixup=alternate");
  }
  if (cutmix.with_mixup == Turns::kSequential && mixup.interpolate_loss) {
    throw base::ConfigError(
        "algorithms.mixup.interpolate_loss: the targets that cutmix mixes after mixup would not be "
        "those of mixed images: leave it out, or write algorithms.cutmix.with_mixup=switch");
  }
}

std::string_view told(Turns turns) {
  switch (turns) {
    case Turns::kSwitch:
      return "one of them is drawn for each microbatch or group, either as likely";
    case Turns::kSequential:
      return "mixup mixes each microbatch, then cutmix";
    case Turns::kAlternate:
      return "mixup mixes in even steps, cutmix in odd ones";
  }
  return "";
}

}  // namespace

nn::ImageSize box_size(double lambda, nn::ImageSize image) {
  const double ratio = std::sqrt(1.0 - lambda);
  const auto cut = [&](std::int64_t side) {
    return static_cast<std::int64_t>(static_cast<double>(side) * ratio);
  };
  return {cut(image.height), cut(image.width)};
}

Mixture draw_cut(const CutmixConfig& config, const SampleGroup& group, nn::ImageSize image) {
  base::Philox draws = group.key.draws(Drawn::kCutmix);
  const double lambda = config.alpha > 0 ? draw_beta(config.alpha, draws) : 1.0;
  Mixture mixture;
  mixture.box = draw_box(box_size(lambda, image), image, config.uniform_sampling, draws);
  mixture.share =
      static_cast<double>(mixture.box.area()) / static_cast<double>(image.height * image.width);
  mixture.partners = draw_partners(config.partner, group, draws);
  return mixture;
}

std::string Cutmix::meet(std::span<const std::unique_ptr<train::Algorithm>> all) {
  for (const auto& algorithm : all) {
    auto* const mixup = dynamic_cast<Mixup*>(algorithm.get());
    if (mixup == nullptr) continue;
    check_goes_with(mixup->config(), config_);
    mixup->take_turns(config_.with_mixup, TurnOf::kFirst);
    take_turns(config_.with_mixup, TurnOf::kSecond);
    return fmt::format("mixup and cutmix (algorithms.cutmix.with_mixup={}): {}",
                       config::enum_name(config_.with_mixup), told(config_.with_mixup));
  }
  return {};
}

Mixture Cutmix::draw(const SampleGroup& group, const at::Tensor& images) const {
  return draw_cut(config_, group, size_of(images));
}

at::Tensor Cutmix::mixed(const at::Tensor& images, const MixedBy& by) const {
  return paste(images, by.partners, by.mixtures);
}

std::unique_ptr<train::Algorithm> make(const CutmixConfig& config) {
  return std::make_unique<Cutmix>(config);
}

}  // namespace paceline::algorithms
