#include "paceline/tensor/cuda_plugin.h"
#include "paceline/tensor/cuda_plugin_abi.h"
#include "paceline/tensor/device.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>
#include <torch/csrc/cuda/memory_snapshot.h>
#include <torch/headeronly/version.h>

namespace paceline::tensor {
namespace {

class CudaTransfer final : public Transfer {
 public:
  CudaTransfer(std::vector<at::Tensor> host, at::Device place, c10::cuda::CUDAStream stream)
      : host_(std::move(host)), place_(place) {
    const c10::cuda::CUDAStreamGuard guard(stream);
    for (const at::Tensor& tensor : host_) {
      device_.push_back(tensor.to(place_, tensor.scalar_type(), /*non_blocking=*/true));
    }
    done_.record(stream);
  }

  // The loader fills this memory anew once it is let go.
  ~CudaTransfer() override { cudaEventSynchronize(done_.event()); }

  CudaTransfer(const CudaTransfer&) = delete;
  CudaTransfer& operator=(const CudaTransfer&) = delete;

  std::vector<at::Tensor> take() override {
    const auto stream = c10::cuda::getCurrentCUDAStream(place_.index());
    done_.block(stream);
    // Their memory belongs to the side stream, which must not have it back before this one is done.
    for (const at::Tensor& tensor : device_) tensor.record_stream(stream);
    return std::move(device_);
  }

 private:
  std::vector<at::Tensor> host_;
  std::vector<at::Tensor> device_;
  at::Device place_;
  at::cuda::CUDAEvent done_;
};

class CudaGraph final : public DeviceGraph {
 public:
  void record(const std::function<void()>& work) override {
    c10::cuda::device_synchronize();
    // Other threads (the loader's, NCCL's) may call CUDA meanwhile.
    graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      work();
    } catch (...) {
      end_failed_capture();
      throw;
    }
    graph_.capture_end();
  }

  void replay() override { graph_.replay(); }

 private:
  void end_failed_capture() {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {  // what broke the capture says more
    }
  }

  at::cuda::CUDAGraph graph_;
};

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(c10::DeviceIndex index)
      : place_(at::kCUDA, index),
        // Not the default stream: work cannot be recorded there.
        compute_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index)),
        transfer_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index)) {}

  at::Device place() const override { return place_; }

  std::string model() const override {
    const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(place_.index());
    return fmt::format("{} (compute capability {}.{})", properties.name, properties.major,
                       properties.minor);
  }

  std::string describe() const override {
    const cudaDeviceProp& properties = *at::cuda::getDeviceProperties(place_.index());
    return fmt::format("{}, {} ({:.0f} GiB, compute capability {}.{})", place_.str(),
                       properties.name, static_cast<double>(properties.totalGlobalMem) / (1 << 30),
                       properties.major, properties.minor);
  }

  std::string uuid() const override {
    return uuid_text(at::cuda::getDeviceProperties(place_.index())->uuid);
  }

  bool is_asynchronous() const override { return true; }

  void bind_thread() override {
    c10::cuda::set_device(place_.index());
    c10::cuda::setCurrentCUDAStream(compute_);
  }

  void synchronize() override {
    const c10::cuda::CUDAGuard guard(place_);
    c10::cuda::device_synchronize();
  }

  at::Tensor read(const at::Tensor& tensor) override {
    const at::Tensor host =
        at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
    host.copy_(tensor, /*non_blocking=*/true);
    c10::cuda::getCurrentCUDAStream(place_.index()).synchronize();
    return host;
  }

  std::shared_ptr<void> allocate_host(std::size_t size_bytes) override {
    // Not from LibTorch's cache of pinned memory, which takes up to twice as much, and for this
    // GPU: a thread that is bound to none would wake the first.
    const c10::cuda::CUDAGuard guard(place_);
    void* memory = nullptr;
    C10_CUDA_CHECK(cudaHostAlloc(&memory, size_bytes, cudaHostAllocDefault));
    return {memory, [place = place_](void* gone) {
              const c10::cuda::CUDAGuard again(place);
              cudaFreeHost(gone);
            }};
  }

  std::unique_ptr<Transfer> start_transfer(std::vector<at::Tensor> host) override {
    return std::make_unique<CudaTransfer>(std::move(host), place_, transfer_);
  }

  std::unique_ptr<DeviceGraph> make_graph() override { return std::make_unique<CudaGraph>(); }

  DeviceMemory memory() const override {
    constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(place_.index());
    const auto bytes = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    return {.allocated_bytes = bytes(stats.allocated_bytes[kAll].current),
            .peak_allocated_bytes = bytes(stats.allocated_bytes[kAll].peak),
            .reserved_bytes = bytes(stats.reserved_bytes[kAll].current)};
  }

  void record_memory_history() override {
    constexpr std::size_t kMostEntries = 200000;
    torch::cuda::_record_memory_history("all", "all", "all", kMostEntries);
  }

  void write_memory_snapshot(const std::filesystem::path& path) override {
    const std::string pickled = torch::cuda::_memory_snapshot_pickled();
    std::filesystem::remove(path);
    std::FILE* const file = std::fopen(path.c_str(), "wbx");  // x: through no planted link
    TORCH_CHECK(file != nullptr, "cannot write ", path.string());
    const bool is_whole = std::fwrite(pickled.data(), 1, pickled.size(), file) == pickled.size();
    TORCH_CHECK(std::fclose(file) == 0 && is_whole, "cannot write ", path.string());
  }

  void push_range(const char* name) override { nvtxRangePushA(name); }
  void pop_range() override { nvtxRangePop(); }

 private:
  at::Device place_;
  c10::cuda::CUDAStream compute_;
  c10::cuda::CUDAStream transfer_;
};

/// LibTorch holds kernels for some compute capabilities only, and says so at the first of them.
void require_kernels(const Device& device) {
  try {
    at::ones({1}, device.place()).add_(1);
  } catch (const c10::Error& error) {
    const std::string_view text = error.what();
    TORCH_CHECK(text.find("no kernel image") == std::string_view::npos, device.describe(),
                ": this LibTorch holds no kernels for it; take another GPU, or build with a "
                "LibTorch for it");
    throw;
  }
}

Device* open_device(int local_rank) {
  const int count = c10::cuda::device_count_ensure_non_zero();  // or says what is wrong
  const int index = count == 1 ? 0 : local_rank;
  TORCH_CHECK(index < count, "this process sees ", count, " GPUs, and rank ", local_rank,
              " of this machine wants one of its own: start fewer ranks, or look at "
              "CUDA_VISIBLE_DEVICES");
  auto device = std::make_unique<CudaDevice>(static_cast<c10::DeviceIndex>(index));
  require_kernels(*device);
  return device.release();
}

}  // namespace
}  // namespace paceline::tensor

extern "C" __attribute__((visibility("default"))) int paceline_cuda_abi() {
  return paceline::tensor::kCudaPluginAbi;
}

extern "C" __attribute__((visibility("default"))) const char* paceline_cuda_libtorch() {
  return TORCH_VERSION;
}

extern "C" __attribute__((visibility("default"))) paceline::tensor::Device* paceline_open_device(
    int local_rank, char* error, std::size_t error_size) {
  try {
    return paceline::tensor::open_device(local_rank);
  } catch (const std::exception& exception) {
    const std::string_view text = exception.what();
    const std::size_t length = std::min(text.find('\n'), std::min(text.size(), error_size - 1));
    error[text.copy(error, length)] = '\0';
    return nullptr;
  }
}
