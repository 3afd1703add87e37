#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/tensor/device.h"

#include <cstdint>

namespace paceline::tensor {

/// Zeros [size] in host memory that the device copies from without a wait. The memory must not be
/// freed or written to before the device has read it.
at::Tensor host_zeros(std::int64_t size, at::ScalarType dtype, Device& device);

}  // namespace paceline::tensor
