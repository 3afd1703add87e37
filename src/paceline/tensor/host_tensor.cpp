#include "paceline/tensor/host_tensor.h"

namespace paceline::tensor {

at::Tensor host_zeros(std::int64_t size, at::ScalarType dtype, Device& device) {
  if (size == 0) return at::empty({0}, dtype);
  const std::size_t bytes = static_cast<std::size_t>(size) * c10::elementSize(dtype);
  const std::shared_ptr<void> memory = device.allocate_host(bytes);
  return at::from_blob(
             memory.get(), {size}, [memory](void*) {}, dtype)
      .zero_();
}

}  // namespace paceline::tensor
