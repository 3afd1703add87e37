#pragma once

#include "paceline/data/loader/host_batch.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/device.h"

namespace paceline::train {

/// Makes the floats that the loader would have written, bit for bit, of a batch whose pixels came
/// to the device as bytes.
class ByteImages {
 public:
  ByteImages(const data::HostBatch& host, tensor::Device& device);

  /// What the device must know: float32, in memory that it copies from fastest.
  const at::Tensor& parameters() const { return parameters_; }

  /// `bytes`: [count, 3, height, width] uint8; `parameters`: the above; both on the device.
  at::Tensor to_floats(const at::Tensor& bytes, const at::Tensor& parameters) const;

 private:
  bool channels_last_;
  at::Tensor parameters_;
};

}  // namespace paceline::train
