#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace paceline::comm {

/// A group that, for CPU tensors, moves all_gather and sums all_reduce and reduce_scatter of
/// float32, float64 and int64 through memory that the ranks of one host share; `gloo`, which is
/// connected, does the rest. Every rank must call it. Returns `gloo` itself, on every rank, where
/// one cannot have the memory (another host or container, no memory), which that rank
/// logs.
c10::intrusive_ptr<c10d::Backend> with_shared_memory(c10::intrusive_ptr<c10d::Backend> gloo);

/// Whether the backend reduces and scatters this dtype: in rank order, in the dtype itself.
bool adds_slices_in_shared_memory(const c10d::Backend& backend, at::ScalarType dtype);

}  // namespace paceline::comm
