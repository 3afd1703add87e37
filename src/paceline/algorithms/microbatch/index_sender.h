#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/tensor/device.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace paceline::algorithms {

/// Brings indices that were drawn on the host to the device without a wait: from host memory that
/// is kept from step to step, as to free it before the device has read it would be one.
class IndexSender {
 public:
  /// To be called when what was sent in the step before has been read.
  void begin_step() { transfers_.clear(); }
  /// int64 in the device's memory, ready for what is queued from here on.
  at::Tensor send(std::span<const std::int64_t> indices, tensor::Device& device);

 private:
  std::vector<at::Tensor> memory_;                            ///< of each send() of a step
  std::vector<std::unique_ptr<tensor::Transfer>> transfers_;  ///< of this step
};

}  // namespace paceline::algorithms
