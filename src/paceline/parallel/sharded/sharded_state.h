#pragma once

#include "paceline/optim/optimizer.h"
#include "paceline/parallel/sharded/sharded_layout.h"
#include "paceline/tensor/state_shard.h"

#include <span>
#include <string>
#include <vector>

namespace paceline::parallel {

/// `groups` with the parts of this rank's shards for slots.
std::vector<optim::ParamGroup> fill_groups(std::vector<optim::ParamGroup> groups,
                                           const ShardedLayout& layout);

/// This rank's pieces of what lies parallel to those slots: of `tensors`, one for each, cut by
/// parameter under `prefix` and its name.
std::vector<tensor::StateShard> cut_by_parameter(const ShardedLayout& layout,
                                                 const std::string& prefix,
                                                 std::span<const at::Tensor> tensors,
                                                 const ShardGroups& groups);

/// What this rank saves of `state`, the model's tensors: its pieces of parameters, whole buffers.
std::vector<tensor::StateShard> model_shards(const ShardedLayout& layout,
                                             std::span<const NamedTensor> state,
                                             BufferPolicy buffers, const ShardGroups& groups);

}  // namespace paceline::parallel
