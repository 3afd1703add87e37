#pragma once

#include <chrono>
#include <span>
#include <string>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {

/// Sets what LibTorch's NCCL backend and NCCL read from the environment, whoever started the
/// process: a failed collective ends by an error of ours, never by the end of the process, and
/// nobody asks the store every second. `interface` is what NCCL connects over, unless
/// NCCL_SOCKET_IFNAME names another; empty: NCCL chooses.
void set_nccl_environment(const std::string& interface);

/// LibTorch's NCCL backend on GPU `device`, from the CUDA plug-in, on streams of high priority.
/// Every rank must call it; `store` must be this group's own, `members` are its ranks in the run.
/// `interface` as for set_nccl_environment. Throws ConfigError when the plug-in cannot be loaded,
/// CommError when NCCL cannot connect.
c10::intrusive_ptr<c10d::Backend> make_nccl_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    int rank, std::span<const int> members,
                                                    int device, std::chrono::milliseconds timeout,
                                                    const std::string& interface);

}  // namespace paceline::comm
