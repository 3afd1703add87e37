#include "paceline/algorithms/microbatch/index_sender.h"

#include "paceline/tensor/host_tensor.h"

#include <algorithm>
#include <cstddef>

namespace paceline::algorithms {

at::Tensor IndexSender::send(std::span<const std::int64_t> indices, tensor::Device& device) {
  const std::size_t number = transfers_.size();
  if (number == memory_.size()) memory_.emplace_back();
  at::Tensor& memory = memory_[number];
  const std::int64_t size = std::ssize(indices);
  if (!memory.defined() || memory.numel() < size)
    memory = tensor::host_zeros(size, at::kLong, device);
  const at::Tensor rows = memory.narrow(0, 0, size);
  std::ranges::copy(indices, rows.mutable_data_ptr<std::int64_t>());
  transfers_.push_back(device.start_transfer({rows}));
  return transfers_.back()->take().front();
}

}  // namespace paceline::algorithms
