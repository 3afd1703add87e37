#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/tensor/device.h"

#include <cstdint>

namespace paceline::tensor {

/// Zeros [size] in host memory that the device copies from without a wait. The memory must not be
/// freed or written to before the device has read it.
at::Tensor host_zeros(std::int64_t size, at::ScalarType dtype, Device& device);

/// Has `fill` write a tensor in host memory: itself if it lies there, else one of its sizes that is
/// copied to it.
template <class Fill>
void fill_on_host(const at::Tensor& tensor, Fill fill) {
  const at::Tensor values = tensor.detach();
  const at::Tensor host = values.to(at::kCPU);
  fill(host);
  if (!values.is_cpu()) values.copy_(host);
}

}  // namespace paceline::tensor
