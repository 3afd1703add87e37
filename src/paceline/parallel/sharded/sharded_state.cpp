#include "paceline/parallel/sharded/sharded_state.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/element_order.h"

#include <algorithm>
#include <utility>

namespace paceline::parallel {
namespace {

/// A parameter group's part of a shard, in elements of the full tensor.
struct Slice {
  const ShardedFlat* flat;
  std::int64_t group;
  std::int64_t begin;
  std::int64_t end;
  std::int64_t first_parameter;  // the number of the flat's first in ShardedLayout::trained()
};

/// The parts of the shards that an optimizer sees, group by group; its state has the same order.
std::vector<Slice> optimizer_slices(const ShardedLayout& layout) {
  std::vector<Slice> slices;
  std::int64_t first_parameter = 0;
  for (const auto& unit : layout.units()) {
    for (const auto& flat : unit->flats()) {
      if (!flat->is_trainable()) continue;
      for (const tensor::FlatRange& range : flat->layout().ranges) {
        const std::int64_t begin = std::max(range.begin, flat->shard_begin());
        const std::int64_t end = std::min(range.end, flat->shard_end());
        if (begin < end) slices.push_back({flat.get(), range.group, begin, end, first_parameter});
      }
      first_parameter += std::ssize(flat->parameters());
    }
  }
  std::ranges::stable_sort(slices, {}, &Slice::group);
  return slices;
}

std::vector<optim::ParamPiece> pieces_of(const Slice& slice) {
  std::vector<optim::ParamPiece> pieces;
  std::int64_t parameter = slice.first_parameter;
  for (const tensor::FlatSlot& slot : slice.flat->layout().slots) {
    const std::int64_t begin = std::max(slice.begin, slot.offset);
    const std::int64_t end = std::min(slice.end, slot.offset + slot.numel);
    if (begin < end)
      pieces.push_back({parameter, begin - slice.begin, end - slice.begin, begin - slot.offset});
    ++parameter;
  }
  return pieces;
}

/// The part of one parameter in `data`, which holds the elements from `begin` on of the flat
/// tensor.
void append_piece(std::vector<tensor::StateShard>& shards, const tensor::FlatSlot& slot,
                  const at::Tensor& data, std::int64_t begin, std::string name,
                  const ShardGroups& groups) {
  const std::int64_t first = std::max(begin, slot.offset);
  const std::int64_t last = std::min(begin + data.numel(), slot.offset + slot.numel);
  if (first >= last) return;
  shards.push_back({.name = std::move(name),
                    .data = data.narrow(0, first - begin, last - first),
                    .shape = slot.spec.sizes,
                    .begin = first - slot.offset,
                    .end = last - slot.offset,
                    .is_writer = groups.is_in_first_replica(),
                    .order = tensor::memory_order(slot.spec.sizes, slot.spec.strides)});
}

}  // namespace

std::vector<optim::ParamGroup> fill_groups(std::vector<optim::ParamGroup> groups,
                                           const ShardedLayout& layout) {
  for (const Slice& slice : optimizer_slices(layout)) {
    const auto cut = [&](const at::Tensor& shard) {
      return shard.narrow(0, slice.begin - slice.flat->shard_begin(), slice.end - slice.begin);
    };
    groups[static_cast<std::size_t>(slice.group)].slots.push_back(
        {cut(slice.flat->shard()), cut(slice.flat->grad_shard()), pieces_of(slice)});
  }
  return groups;
}

std::vector<tensor::StateShard> cut_by_parameter(const ShardedLayout& layout,
                                                 const std::string& prefix,
                                                 std::span<const at::Tensor> tensors,
                                                 const ShardGroups& groups) {
  const std::vector<Slice> slices = optimizer_slices(layout);
  PACELINE_CHECK(tensors.size() == slices.size(),
                 "{} tensors for the {} slots of this strategy's param_groups()", tensors.size(),
                 slices.size());
  std::vector<tensor::StateShard> shards;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!tensors[i].defined()) continue;
    for (const tensor::FlatSlot& slot : slices[i].flat->layout().slots) {
      append_piece(shards, slot, tensors[i], slices[i].begin, prefix + slot.spec.name, groups);
    }
  }
  return shards;
}

std::vector<tensor::StateShard> model_shards(const ShardedLayout& layout,
                                             std::span<const NamedTensor> state,
                                             BufferPolicy buffers, const ShardGroups& groups) {
  std::vector<tensor::StateShard> shards;
  for (const NamedTensor& named : state) {
    if (const ShardPlace* place = layout.find(named.tensor)) {
      const ShardedFlat& flat = layout.flat_at(*place);
      append_piece(shards, flat.layout().slots[place->slot], flat.shard(), flat.shard_begin(),
                   named.name, groups);
      continue;
    }
    shards.push_back({.name = named.name,
                      .data = named.tensor.detach(),
                      .shape = named.tensor.sizes().vec(),
                      .begin = 0,
                      .end = named.tensor.numel(),
                      .is_writer = groups.world().rank() == 0,
                      .is_replicated = buffers != BufferPolicy::kKeep,
                      .is_buffer = true});
  }
  return shards;
}
}  // namespace paceline::parallel
