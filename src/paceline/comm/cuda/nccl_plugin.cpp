#include "paceline/comm/cuda/plugin_abi.h"

#include <algorithm>
#include <string_view>

#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

extern "C" __attribute__((visibility("default")))
PacelineMakeNcclBackend paceline_make_nccl_backend;

extern "C" c10d::Backend* paceline_make_nccl_backend(c10d::Store* store, int rank, int world_size,
                                                     int device, std::int64_t timeout_ms,
                                                     char* error, std::size_t error_size) {
  try {
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = std::chrono::milliseconds(timeout_ms);
    auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(
        c10::intrusive_ptr<c10d::Store>::reclaim_copy(store), rank, world_size, options);
    const at::Device gpu(at::kCUDA, static_cast<c10::DeviceIndex>(device));
    backend->setBoundDeviceId(gpu);
    backend->eagerConnectSingleDevice(gpu);  // so that a failure to connect appears now
    return backend.release();
  } catch (const std::exception& exception) {
    const std::string_view text = exception.what();
    const std::size_t length = std::min(text.find('\n'), std::min(text.size(), error_size - 1));
    error[text.copy(error, length)] = '\0';
    return nullptr;
  }
}
