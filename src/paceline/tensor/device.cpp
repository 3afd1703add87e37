#include "paceline/tensor/device.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/cuda_plugin.h"
#include "paceline/tensor/cuda_plugin_abi.h"

#include <array>
#include <utility>

namespace paceline::tensor {
namespace {

class FinishedTransfer final : public Transfer {
 public:
  explicit FinishedTransfer(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)) {}
  std::vector<at::Tensor> take() override { return std::move(tensors_); }

 private:
  std::vector<at::Tensor> tensors_;
};

class CpuDevice final : public Device {
 public:
  at::Device place() const override { return at::kCPU; }
  std::string describe() const override { return "cpu"; }
  at::Tensor read(const at::Tensor& tensor) override { return tensor; }
  std::shared_ptr<void> allocate_host(std::size_t size_bytes) override {
    auto memory =
        std::make_shared<at::Tensor>(at::empty({static_cast<std::int64_t>(size_bytes)}, at::kByte));
    return {memory, memory->mutable_data_ptr()};
  }
  std::unique_ptr<Transfer> start_transfer(std::vector<at::Tensor> host) override {
    return std::make_unique<FinishedTransfer>(std::move(host));
  }
  void write_memory_snapshot(const std::filesystem::path& /*path*/) override {
    throw base::ConfigError("a memory snapshot shows a GPU's memory, and this run is on the CPU");
  }
};

}  // namespace

Device& cpu_device() {
  static CpuDevice device;  // has no state
  return device;
}

std::unique_ptr<Device> open_cuda_device(int local_rank) {
  auto* open = reinterpret_cast<OpenDevice*>(cuda_plugin_symbol(kOpenDeviceName));  // NOLINT
  std::array<char, 1024> error{};
  std::unique_ptr<Device> device(open(local_rank, error.data(), error.size()));
  if (device == nullptr) throw base::ConfigError(error.data());
  return device;
}

}  // namespace paceline::tensor
