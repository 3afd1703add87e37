#include "paceline/algorithms/mixing/mixture.h"

#include "paceline/tensor/intra_op.h"

#include <algorithm>
#include <iterator>

namespace paceline::algorithms {
namespace {

/// Whether a pass over memory finds one row after the other.
bool has_rows_in_turn(const at::Tensor& values) {
  return values.is_cpu() && values.scalar_type() == at::kFloat && !values.requires_grad() &&
         values.dim() > 0 && values.numel() > 0 && values.is_non_overlapping_and_dense() &&
         values.stride(0) == values.numel() / values.size(0);
}

[[gnu::optimize("O3")]]  // or it is not vectorised
void mix_row(const float* own, const float* other, float own_share, float other_share,
             std::int64_t size, float* __restrict to) {
  for (std::int64_t i = 0; i < size; ++i) to[i] = own[i] * own_share + other[i] * other_share;
}

/// In one pass, which reads and writes a third of what the single operations do.
at::Tensor mix_in_turn(const at::Tensor& values, const at::Tensor& partners,
                       std::span<const Mixture> mixtures) {
  const at::Tensor mixed = at::empty_like(values);
  const std::int64_t size = values.stride(0);
  const auto* const from = values.const_data_ptr<float>();
  const auto* const partner = partners.const_data_ptr<std::int64_t>();
  auto* const to = mixed.mutable_data_ptr<float>();
  std::int64_t first = 0;
  for (const Mixture& mixture : mixtures) {
    const auto own_share = static_cast<float>(1.0 - mixture.share);
    const auto other_share = static_cast<float>(mixture.share);
    tensor::run_intra_op(std::ssize(mixture.partners), [&](std::int64_t i) {
      const std::int64_t row = first + i;
      mix_row(from + row * size, from + partner[row] * size, own_share, other_share, size,
              to + row * size);
    });
    first += std::ssize(mixture.partners);
  }
  return mixed;
}

/// index_select() along the first dimension, in the layout of `values`: what is selected is copied
/// as it lies in memory.
at::Tensor chosen_rows(const at::Tensor& values, const at::Tensor& rows) {
  if (values.suggest_memory_format() != at::MemoryFormat::ChannelsLast)
    return values.index_select(0, rows);
  return values.permute({0, 2, 3, 1}).index_select(0, rows).permute({0, 3, 1, 2});
}

}  // namespace

Mixture no_mixture(const SampleGroup& group) { return {.share = 0, .partners = rows_of(group)}; }

std::vector<std::int64_t> partner_rows(std::span<const Mixture> mixtures) {
  std::vector<std::int64_t> rows;
  for (const Mixture& mixture : mixtures)
    std::ranges::copy(mixture.partners, std::back_inserter(rows));
  return rows;
}

at::Tensor mix(const at::Tensor& values, const at::Tensor& partners,
               std::span<const Mixture> mixtures) {
  if (has_rows_in_turn(values)) return mix_in_turn(values, partners, mixtures);
  const at::Tensor others = chosen_rows(values, partners);
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
          chosen_rows(inside(images, mixture.box), partners.narrow(0, row, count));
      inside(pasted.narrow(0, row, count), mixture.box).copy_(others);
    }
    row += count;
  }
  return pasted;
}

}  // namespace paceline::algorithms
