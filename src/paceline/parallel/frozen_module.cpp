#include "paceline/parallel/frozen_module.h"

#include "paceline/tensor/storage.h"

namespace paceline::parallel {

WholeFrozenModule::WholeFrozenModule(const torch::nn::Module& module, const FillValues& fill) {
  for (const NamedTensor& named : frozen_parameters(module)) {
    if (tensor::has_memory(named.tensor)) continue;
    check_fill(fill, named.name);
    tensor::allocate_memory(named.tensor);
    fill(named);
  }
  bytes_ = bytes_of(frozen_parameters(module)) + bytes_of(module_buffers(module));
}

}  // namespace paceline::parallel
