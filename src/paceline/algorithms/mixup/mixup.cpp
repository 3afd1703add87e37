#include "paceline/algorithms/mixup/mixup.h"

#include <algorithm>

namespace paceline::algorithms {

double folded(double share) { return std::min(share, 1.0 - share); }

Mixture draw_mixture(const MixupConfig& config, const SampleGroup& group) {
  base::Philox draws = group.key.draws(Drawn::kMixup);
  Mixture mixture;
  if (config.alpha > 0) mixture.share = draw_beta(config.alpha, draws);
  if (config.fold) mixture.share = folded(mixture.share);
  mixture.partners = draw_partners(config.partner, group, draws);
  return mixture;
}

Mixture Mixup::draw(const SampleGroup& group, const at::Tensor& /*images*/) const {
  return draw_mixture(config_, group);
}

at::Tensor Mixup::mixed(const at::Tensor& images, const MixedBy& by) const {
  return mix(images, by.partners, by.mixtures);
}

std::unique_ptr<train::Algorithm> make(const MixupConfig& config) {
  return std::make_unique<Mixup>(config);
}

}  // namespace paceline::algorithms
