#pragma once

#include "paceline/optim/optimizer.h"
#include "paceline/tensor/aten.h"

#include <optional>
#include <string>
#include <vector>

namespace paceline::optim {

/// The tensors of one call of a fused kernel: slots of one group and one dtype, in order.
struct SlotList {
  std::size_t group = 0;
  std::vector<std::size_t> slots = {};  ///< numbers over all groups, as in SlotState::tensors
  std::vector<at::Tensor> params = {};
  std::vector<at::Tensor> grads = {};
};

/// Throws InternalError unless each gradient has its parameter's sizes, strides, dtype and device
/// and lies without gaps: LibTorch's fused kernels walk memory and are silently wrong otherwise.
std::vector<SlotList> make_slot_lists(const std::vector<ParamGroup>& groups);

/// A zeroed tensor like each slot's parameter, strides included.
std::vector<at::Tensor> zeros_like_slots(const std::vector<ParamGroup>& groups);

/// Makes every slot without pieces a parameter of its own, if `shards` knows of none.
void number_parameters(std::vector<ParamGroup>& groups, ParameterShards& shards);

/// A tensor that lies without gaps as [n], in the order of memory.
at::Tensor flat_view(const at::Tensor& tensor);

/// A parameter's part of a slot's tensor as [n], a view.
at::Tensor part_of(const at::Tensor& slot, const ParamPiece& piece);

/// Copies `next` to `place`, but where `skip` is defined and 1.
void keep_or_take(const at::Tensor& place, const at::Tensor& next, const at::Tensor& skip);

/// Tells autograd that the parameters changed: the fused kernels do not.
void bump_versions(const SlotList& list);

/// As fused kernels take what may be missing.
std::optional<at::Tensor> if_defined(const at::Tensor& tensor);

/// The tensors of a state that belong to a list.
std::vector<at::Tensor> select(const std::vector<at::Tensor>& state, const SlotList& list);

}  // namespace paceline::optim
