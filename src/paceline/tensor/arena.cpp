#include "paceline/tensor/arena.h"

#include "paceline/base/error.h"
#include "paceline/tensor/dtype.h"
#include "paceline/tensor/storage.h"
#include "paceline/tensor/torch.h"

#include <algorithm>
#include <string>
#include <utility>

namespace paceline::tensor {

Arena::Arena(FlatLayout layout, const at::Tensor& like) : layout_(std::move(layout)) {
  std::vector<std::string> dtypes;
  std::vector<std::int64_t> lengths;
  for (const FlatBucket& bucket : layout_.buckets) {
    std::size_t index = 0;
    while (index < dtypes.size() && dtypes[index] != bucket.dtype) ++index;
    if (index == dtypes.size()) {
      dtypes.push_back(bucket.dtype);
      lengths.push_back(0);
    }
    lengths[index] = std::max(lengths[index], bucket.end);
    flat_of_bucket_.push_back(index);
  }
  for (std::size_t i = 0; i < dtypes.size(); ++i) {
    flats_.push_back(
        at::zeros({lengths[i]}, at::device(like.device()).dtype(dtype_from_name(dtypes[i]))));
  }
}

at::Tensor Arena::bucket(std::size_t index) const {
  const FlatBucket& bucket = layout_.buckets[index];
  return flats_[flat_of(index)].narrow(0, bucket.begin, bucket.end - bucket.begin);
}

at::Tensor Arena::range(const FlatRange& range) const {
  const at::Tensor& flat = flats_[flat_of(static_cast<std::size_t>(range.bucket))];
  return flat.narrow(0, range.begin, range.end - range.begin);
}

at::Tensor Arena::slot(std::size_t index) const {
  const FlatSlot& slot = layout_.slots[index];
  const at::Tensor& flat = flats_[flat_of(static_cast<std::size_t>(slot.bucket))];
  return flat.as_strided(slot.spec.sizes, slot.spec.strides, slot.offset);
}

void move_into(const at::Tensor& tensor, const at::Tensor& slot) {
  const at::NoGradGuard no_grad;
  PACELINE_CHECK(tensor.sizes() == slot.sizes() && tensor.strides() == slot.strides(),
                 "a tensor and its slot differ in sizes or strides");
  if (has_memory(tensor)) slot.copy_(tensor);
  tensor.set_data(slot);
  torch::autograd::impl::set_version_counter(tensor, torch::autograd::impl::version_counter(slot));
}

void check_in_place(const std::string& name, const at::Tensor& parameter, const at::Tensor& flat,
                    std::int64_t offset) {
  PACELINE_CHECK(
      parameter.storage().is_alias_of(flat.storage()) && parameter.storage_offset() == offset,
      "parameter '{}' has left the flat memory: Module::to or set_data moved it after prepare()",
      name);
}

}  // namespace paceline::tensor
