#include "paceline/comm/c10d/cuda_plugin_abi.h"

#include <algorithm>
#include <string_view>

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

using paceline::comm::NcclGroup;

namespace {

c10d::Backend* make_backend(const NcclGroup& group) {
  // Gradients are summed beside backward: their few blocks must not wait behind its many.
  auto options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
  options->timeout = std::chrono::milliseconds(group.timeout_ms);
  options->global_ranks_in_group.assign(group.members.begin(), group.members.end());
  const at::Device gpu(at::kCUDA, static_cast<c10::DeviceIndex>(group.device));
  const c10::cuda::CUDAGuard guard(gpu);
  auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(
      c10::intrusive_ptr<c10d::Store>::reclaim_copy(group.store), group.rank,
      static_cast<int>(group.members.size()), options);
  backend->setBoundDeviceId(gpu);
  backend->eagerConnectSingleDevice(gpu);  // so that a failure to connect appears now
  return backend.release();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) c10d::Backend* paceline_make_nccl_backend(
    const NcclGroup& group, char* error, std::size_t error_size) {
  try {
    return make_backend(group);
  } catch (const std::exception& exception) {
    const std::string_view text = exception.what();
    const std::size_t length = std::min(text.find('\n'), std::min(text.size(), error_size - 1));
    error[text.copy(error, length)] = '\0';
    return nullptr;
  }
}
