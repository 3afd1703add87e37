#include "paceline/tensor/storage.h"

#include "paceline/tensor/aten.h"

namespace paceline::tensor {

bool has_memory(const at::Tensor& tensor) {
  return tensor.numel() == 0 || tensor.storage().nbytes() > 0;
}

void free_memory(const at::Tensor& tensor) {
  const at::Storage& storage = tensor.storage();
  storage.set_data_ptr_noswap(at::DataPtr(nullptr, storage.device()));
  storage.set_nbytes(0);
}

void allocate_memory(const at::Tensor& tensor) {
  if (has_memory(tensor)) return;
  const at::Storage& storage = tensor.storage();
  const std::size_t bytes =
      at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size(),
                                       static_cast<std::size_t>(tensor.storage_offset()));
  storage.set_data_ptr_noswap(storage.allocator()->allocate(bytes));
  storage.set_nbytes(bytes);
}

at::Tensor without_memory(const at::Tensor& like, c10::ScalarType dtype, c10::Device device) {
  const at::Tensor tensor = at::empty({0}, at::dtype(dtype).device(device));
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides());
  return tensor;
}

}  // namespace paceline::tensor
