#include "paceline/optim/slot_lists.h"

#include "paceline/base/error.h"
#include "paceline/tensor/element_order.h"

namespace paceline::optim {
namespace {

void check_slot(const ParamSlot& slot, std::size_t number, const std::string& group) {
  const at::Tensor &param = slot.param, &grad = slot.grad;
  PACELINE_CHECK(
      param.sizes() == grad.sizes() && param.strides() == grad.strides() &&
          param.scalar_type() == grad.scalar_type() && param.device() == grad.device(),
      "slot {} of parameter group '{}': parameter and gradient differ in sizes, strides, "
      "dtype or device",
      number, group);
  PACELINE_CHECK(param.is_non_overlapping_and_dense(),
                 "slot {} of parameter group '{}' has gaps or overlaps in memory", number, group);
}

SlotList& list_for(std::vector<SlotList>& lists, std::size_t group, at::ScalarType dtype) {
  for (SlotList& list : lists) {
    if (list.group == group && list.params.front().scalar_type() == dtype) return list;
  }
  return lists.emplace_back(SlotList{.group = group});
}

}  // namespace

std::vector<SlotList> make_slot_lists(const std::vector<ParamGroup>& groups) {
  std::vector<SlotList> lists;
  std::size_t number = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const ParamSlot& slot : groups[group].slots) {
      check_slot(slot, number, groups[group].name);
      SlotList& list = list_for(lists, group, slot.param.scalar_type());
      list.slots.push_back(number++);
      list.params.push_back(slot.param);
      list.grads.push_back(slot.grad);
    }
  }
  return lists;
}

std::vector<at::Tensor> zeros_like_slots(const std::vector<ParamGroup>& groups) {
  std::vector<at::Tensor> zeros;
  for (const ParamGroup& group : groups) {
    for (const ParamSlot& slot : group.slots) {
      zeros.push_back(at::zeros_like(slot.param.detach(), at::MemoryFormat::Preserve));
    }
  }
  return zeros;
}

void number_parameters(std::vector<ParamGroup>& groups, ParameterShards& shards) {
  if (!shards.parameters.empty()) return;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (ParamSlot& slot : groups[group].slots) {
      const at::Tensor& param = slot.param;
      slot.pieces = {{std::ssize(shards.parameters), 0, param.numel(), 0}};
      shards.parameters.push_back({param.sizes().vec(), param.scalar_type(), group,
                                   tensor::memory_order(param.sizes(), param.strides())});
      shards.device = param.device();
    }
  }
}

at::Tensor flat_view(const at::Tensor& tensor) {
  return tensor.as_strided({tensor.numel()}, {1}, tensor.storage_offset());
}

at::Tensor part_of(const at::Tensor& slot, const ParamPiece& piece) {
  return flat_view(slot).narrow(0, piece.begin, piece.end - piece.begin);
}

void keep_or_take(const at::Tensor& place, const at::Tensor& next, const at::Tensor& skip) {
  place.copy_(skip.defined() ? at::where(skip != 0, place, next) : next);
}

void bump_versions(const SlotList& list) {
  for (const at::Tensor& param : list.params) param.unsafeGetTensorImpl()->bump_version();
}

std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

std::vector<at::Tensor> select(const std::vector<at::Tensor>& state, const SlotList& list) {
  std::vector<at::Tensor> selected;
  for (const std::size_t slot : list.slots) selected.push_back(state[slot]);
  return selected;
}

}  // namespace paceline::optim
