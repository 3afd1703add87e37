#pragma once

#include "paceline/tensor/fwd.h"

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace paceline::tensor {

// A tensor can be without the memory of its elements for a while: it keeps its sizes, its strides
// and its place in the autograd graph, and so do its views, which share the storage. Reading it
// then reads address 0.

/// True also for a tensor without elements, which needs none.
bool has_memory(const at::Tensor& tensor);

/// Frees the elements of `tensor` and of all that share its storage.
void free_memory(const at::Tensor& tensor);

/// Gives it memory again if it has none; the values are undefined.
void allocate_memory(const at::Tensor& tensor);

/// Like at::empty_strided with the sizes and strides of `like`, but without memory.
at::Tensor without_memory(const at::Tensor& like, c10::ScalarType dtype, c10::Device device);

}  // namespace paceline::tensor
