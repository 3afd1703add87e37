#include "paceline/algorithms/mixing/mixture.h"

#include <algorithm>
#include <iterator>

namespace paceline::algorithms {

Mixture no_mixture(const SampleGroup& group) { return {.share = 0, .partners = rows_of(group)}; }

std::vector<std::int64_t> partner_rows(std::span<const Mixture> mixtures) {
  std::vector<std::int64_t> rows;
  for (const Mixture& mixture : mixtures)
    std::ranges::copy(mixture.partners, std::back_inserter(rows));
  return rows;
}

at::Tensor mix(const at::Tensor& values, const at::Tensor& partners,
               std::span<const Mixture> mixtures) {
  const at::Tensor others = values.index_select(0, partners);
  std::vector<at::Tensor> mixed;
  std::int64_t row = 0;
  for (const Mixture& mixture : mixtures) {
    const auto count = std::ssize(mixture.partners);
    mixed.push_back(values.narrow(0, row, count) * (1.0 - mixture.share) +
                    others.narrow(0, row, count) * mixture.share);
    row += count;
  }
  return mixed.size() == 1 ? mixed.front() : at::cat(mixed);
}

at::Tensor paste(const at::Tensor& images, const at::Tensor& partners,
                 std::span<const Mixture> mixtures) {
  const at::Tensor pasted = images.clone();
  std::int64_t row = 0;
  for (const Mixture& mixture : mixtures) {
    const auto count = std::ssize(mixture.partners);
    if (mixture.box.area() > 0) {
      const at::Tensor others =
          inside(images, mixture.box).index_select(0, partners.narrow(0, row, count));
      inside(pasted.narrow(0, row, count), mixture.box).copy_(others);
    }
    row += count;
  }
  return pasted;
}

}  // namespace paceline::algorithms
