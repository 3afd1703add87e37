#pragma once

#include <chrono>
#include <span>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {

/// LibTorch's NCCL backend on GPU `device`, from the CUDA plug-in, on streams of high priority.
/// Every rank must call it; `store` must be this group's own, `members` are its ranks in the run.
/// Throws ConfigError when the plug-in cannot be loaded, CommError when NCCL cannot connect.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, std::span<const int> members,
                                                    int device, std::chrono::milliseconds timeout);

}  // namespace paceline::comm
