#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace paceline::comm {

/// A group whose all_reduce of CPU tensors in float32, float64 and int64 goes through memory that
/// the ranks of one host share; `gloo`, which is connected, does the rest. Every rank must call it.
/// Returns `gloo` itself, on every rank, where one cannot have the memory (another host or
/// container, no room in /dev/shm), which that rank logs.
c10::intrusive_ptr<c10d::Backend> with_shared_memory(c10::intrusive_ptr<c10d::Backend> gloo);

}  // namespace paceline::comm
