#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/tensor/flat_layout.h"

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::tensor {

/// Flat memory for every tensor of a layout: one zeroed tensor [n] for each dtype. Padding stays
/// zero under everything that maps zero to zero, so norms and sums over the flat tensors are exact.
///
/// All views share one version counter per dtype: a write through any of them is noticed by
/// autograd wherever another was saved.
class Arena {
 public:
  /// The memory lies on the device of `like`.
  Arena(FlatLayout layout, const at::Tensor& like);

  const FlatLayout& layout() const { return layout_; }
  /// One for each dtype, in the order of their first bucket.
  const std::vector<at::Tensor>& flats() const { return flats_; }

  /// The number of the flat tensor in which a bucket lies.
  std::size_t flat_of(std::size_t bucket) const { return flat_of_bucket_[bucket]; }

  at::Tensor bucket(std::size_t index) const;      ///< [n], contiguous
  at::Tensor range(const FlatRange& range) const;  ///< [n], contiguous
  at::Tensor slot(std::size_t index) const;        ///< sizes and strides of the slot's spec

 private:
  FlatLayout layout_;
  std::vector<at::Tensor> flats_;
  std::vector<std::size_t> flat_of_bucket_;
};

/// Makes `tensor` a view of `slot` with its values kept, if it has memory: the module's own handle,
/// its gradient accumulator and its hooks stay. A write through the arena then bumps the tensor's
/// version.
void move_into(const at::Tensor& tensor, const at::Tensor& slot);

/// Throws InternalError that names a parameter which is no view of `flat` at `offset` any more.
void check_in_place(const std::string& name, const at::Tensor& parameter, const at::Tensor& flat,
                    std::int64_t offset);

}  // namespace paceline::tensor
