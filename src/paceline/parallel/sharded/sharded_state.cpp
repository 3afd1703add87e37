// What ShardedStrategy saves, and what an optimizer updates.

#include "paceline/base/error.h"
#include "paceline/parallel/sharded/sharded_strategy.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/element_order.h"

#include <algorithm>
#include <utility>

namespace paceline::parallel {

/// The parts of the shards that an optimizer sees, group by group; its state has the same order.
std::vector<ShardedStrategy::Slice> ShardedStrategy::optimizer_slices() const {
  std::vector<Slice> slices;
  for (const auto& unit : units_) {
    for (const auto& flat : unit->flats()) {
      if (!flat->is_trainable()) continue;
      for (const tensor::FlatRange& range : flat->layout().ranges) {
        const std::int64_t begin = std::max(range.begin, flat->shard_begin());
        const std::int64_t end = std::min(range.end, flat->shard_end());
        if (begin < end) slices.push_back({flat.get(), range.group, begin, end});
      }
    }
  }
  std::ranges::stable_sort(slices, {}, &Slice::group);
  return slices;
}

std::vector<optim::ParamGroup> ShardedStrategy::param_groups() {
  std::vector<optim::ParamGroup> groups = group_settings_;
  for (const Slice& slice : optimizer_slices()) {
    const auto cut = [&](const at::Tensor& shard) {
      return shard.narrow(0, slice.begin - slice.flat->shard_begin(), slice.end - slice.begin);
    };
    groups[static_cast<std::size_t>(slice.group)].slots.push_back(
        {cut(slice.flat->shard()), cut(slice.flat->grad_shard())});
  }
  return groups;
}

/// The part of one parameter in `data`, which holds the elements from `begin` on of the flat
/// tensor.
void ShardedStrategy::append_piece(std::vector<StateShard>& shards, const tensor::FlatSlot& slot,
                                   const at::Tensor& data, std::int64_t begin,
                                   std::string name) const {
  const std::int64_t first = std::max(begin, slot.offset);
  const std::int64_t last = std::min(begin + data.numel(), slot.offset + slot.numel);
  if (first >= last) return;
  shards.push_back({.name = std::move(name),
                    .data = data.narrow(0, first - begin, last - first),
                    .shape = slot.spec.sizes,
                    .begin = first - slot.offset,
                    .end = last - slot.offset,
                    .is_writer = !replica_group_ || replica_group_->rank() == 0,
                    .order = tensor::memory_order(slot.spec.sizes, slot.spec.strides)});
}

std::vector<StateShard> ShardedStrategy::model_state() {
  std::vector<StateShard> shards;
  for (const NamedTensor& named : state_) {
    const auto place = place_of_.find(named.tensor.unsafeGetTensorImpl());
    if (place == place_of_.end()) {
      shards.push_back({.name = named.name,
                        .data = named.tensor.detach(),
                        .shape = named.tensor.sizes().vec(),
                        .begin = 0,
                        .end = named.tensor.numel(),
                        .is_writer = world_.rank() == 0,
                        .is_replicated = config_.buffers != BufferPolicy::kKeep,
                        .is_buffer = true});
      continue;
    }
    const ShardedFlat& flat = *units_[place->second.unit]->flats()[place->second.flat];
    append_piece(shards, flat.layout().slots[place->second.slot], flat.shard(), flat.shard_begin(),
                 named.name);
  }
  if (config_.buffers == BufferPolicy::kKeep) append_own_buffers(shards, buffers_, world_);
  return shards;
}

std::vector<StateShard> ShardedStrategy::cut_by_parameter(
    const std::string& prefix, std::span<const at::Tensor> tensors) const {
  const std::vector<Slice> slices = optimizer_slices();
  PACELINE_CHECK(tensors.size() == slices.size(),
                 "{} tensors for the {} slots of this strategy's param_groups()", tensors.size(),
                 slices.size());
  std::vector<StateShard> shards;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    for (const tensor::FlatSlot& slot : slices[i].flat->layout().slots)
      append_piece(shards, slot, tensors[i], slices[i].begin, prefix + slot.spec.name);
  }
  return shards;
}

}  // namespace paceline::parallel
