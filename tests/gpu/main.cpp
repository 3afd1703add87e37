// The tests that need a GPU. Without one the program ends with 77, which ctest calls skipped.

#include "gpu/test_devices.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/cuda_plugin.h"
#include "support/gpu_communicator.h"
#include "support/queued_device.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace paceline::test {

bool uses_stand_in() {
  const char* wanted = std::getenv("PACELINE_GPU_TEST");
  return wanted != nullptr && std::string_view(wanted) == "stand-in";
}

int num_devices() { return uses_stand_in() ? 2 : static_cast<int>(at::getNumGPUs()); }

std::unique_ptr<tensor::Device> open_device(int rank) {
  std::unique_ptr<tensor::Device> device;
  if (uses_stand_in()) {
    device = std::make_unique<QueuedDevice>(rank);
  } else {
    device = tensor::open_cuda_device(rank);
  }
  device->bind_thread();
  return device;
}

std::unique_ptr<comm::Communicator> connect(const comm::GroupOptions& options) {
  comm::GroupOptions own = options;
  if (!uses_stand_in()) own.device = "cuda:" + std::to_string(options.rank);
  auto communicator = comm::connect(own);
  if (uses_stand_in()) communicator = std::make_unique<GpuCommunicator>(std::move(communicator));
  return communicator;
}

}  // namespace paceline::test

namespace {

constexpr int kSkipped = 77;

/// Sums in one order and without TF32, so that results can be compared.
void compute_exactly() {
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);
  auto& torch = at::globalContext();
  torch.setAllowTF32CuBLAS(false);
  torch.setAllowTF32CuDNN(false);
  torch.setBenchmarkCuDNN(false);
  torch.setDeterministicCuDNN(true);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!paceline::test::uses_stand_in()) {
    const auto plugin = paceline::tensor::load_cuda_plugin();  // before the first tensor
    if (plugin.handle == nullptr) {
      std::printf("gpu_test: skipped: %s\n", plugin.reason.c_str());
      return kSkipped;
    }
    if (paceline::test::num_devices() == 0) {
      std::puts("gpu_test: skipped: this process sees no GPU (CUDA_VISIBLE_DEVICES?)");
      return kSkipped;
    }
  }
  compute_exactly();
  return RUN_ALL_TESTS();
}
