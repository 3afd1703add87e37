#include "paceline/parallel/replicated/gradient_places.h"

#include "paceline/base/huge_pages.h"
#include "paceline/tensor/torch.h"

#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>

namespace paceline::parallel {
namespace {

/// The ranges of a layout with each slot that `is_alone` in one of its own.
template <class IsAlone>
std::vector<tensor::FlatRange> split_ranges(const tensor::FlatLayout& layout, IsAlone is_alone) {
  std::vector<tensor::FlatRange> ranges;
  for (const tensor::FlatRange& whole : layout.ranges) {
    std::int64_t first = whole.first_slot;
    const auto end_at = [&](std::int64_t slot, std::int64_t element) {
      tensor::FlatRange part = whole;
      part.first_slot = std::exchange(first, slot);
      part.end_slot = slot;
      if (part.first_slot == slot) return;
      part.begin = layout.slots[static_cast<std::size_t>(part.first_slot)].offset;
      part.end = element;
      ranges.push_back(part);
    };
    for (std::int64_t slot = whole.first_slot; slot < whole.end_slot; ++slot) {
      const tensor::FlatSlot& place = layout.slots[static_cast<std::size_t>(slot)];
      if (!is_alone(place)) continue;
      end_at(slot, place.offset);
      end_at(slot + 1, place.offset + place.numel);
    }
    end_at(whole.end_slot, whole.end);
  }
  return ranges;
}

/// Whether the elements of both have the same order in memory; nobody steps along a side of 1.
bool are_laid_out_alike(const at::Tensor& a, const at::Tensor& b) {
  for (std::int64_t dim = 0; dim < a.dim(); ++dim) {
    if (a.size(dim) > 1 && a.stride(dim) != b.stride(dim)) return false;
  }
  return true;
}

}  // namespace

GradientPlaces::GradientPlaces(const tensor::Arena& arena, bool may_stay)
    : arena_(arena),
      movable_(arena.layout().slots.size()),
      is_elsewhere_(arena.layout().slots.size(), 0) {
  const std::vector<tensor::FlatSlot>& slots = arena.layout().slots;
  const auto is_movable = [&](const tensor::FlatSlot& slot) {
    return may_stay && slot.numel >= kLeastToStay;
  };
  ranges_ = split_ranges(arena.layout(), is_movable);
  shares_.resize(slots.size());
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    if (is_movable(slots[slot])) movable_[slot] = at::empty({0}, arena.slot(slot).options());
    return_to_arena(slot);
    // Nothing is there yet, and perhaps never will be.
    if (movable_[slot].defined())
      base::release_pages(movable_[slot].mutable_data_ptr(), movable_[slot].nbytes());
  }
}

void GradientPlaces::return_to_arena(std::size_t slot) {
  // Optimizers that zero gradients detach them in place, which views would refuse.
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  shares_[slot] = arena_.slot(slot);
  is_elsewhere_[slot] = 0;
  if (!movable_[slot].defined()) return;
  const at::Tensor& share = shares_[slot];
  movable_[slot].set_(share.storage(), share.storage_offset(), {share.numel()}, {1});
}

bool GradientPlaces::leave(std::size_t slot, const at::Tensor& grad) {
  const at::Tensor& share = shares_[slot];
  if (!movable_[slot].defined() || !are_laid_out_alike(grad, share) ||
      grad.scalar_type() != share.scalar_type() || !grad.is_cpu())
    return false;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  shares_[slot] = grad.as_strided(share.sizes(), share.strides());
  movable_[slot].set_(grad.storage(), grad.storage_offset(), {grad.numel()}, {1});
  is_elsewhere_[slot] = 1;
  return true;
}

void GradientPlaces::release() {
  for (std::size_t slot = 0; slot < shares_.size(); ++slot) {
    if (is_elsewhere_[slot] != 0) return_to_arena(slot);
  }
}

at::Tensor GradientPlaces::range(std::size_t number) const {
  const tensor::FlatRange& range = ranges_[number];
  const auto first = static_cast<std::size_t>(range.first_slot);
  return movable_[first].defined() ? movable_[first] : arena_.range(range);
}

std::uint64_t GradientPlaces::bytes_beside_arena() const {
  std::uint64_t bytes = 0;
  for (const at::Tensor& each : movable_) bytes += each.defined() ? each.nbytes() : 0;
  return bytes;
}

}  // namespace paceline::parallel
