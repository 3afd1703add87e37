#include "paceline/tensor/device.h"

#include "paceline/base/error.h"
#include "paceline/tensor/aten.h"
#include "paceline/tensor/cuda_plugin.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::tensor {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(CpuDevice, HandsOutWhatItWasGiven) {
  const at::Tensor images = at::arange(24).view({2, 3, 2, 2});
  const auto transfer = cpu_device().start_transfer({images});
  EXPECT_TRUE(transfer->take().front().is_same(images));
}

TEST(CpuDevice, HostMemoryIsAlignedAndOutlivesTheCall) {
  const auto memory = cpu_device().allocate_host(100);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % 64, 0u);
  std::fill_n(static_cast<char*>(memory.get()), 100, 'x');
  EXPECT_EQ(static_cast<char*>(memory.get())[99], 'x');
}

TEST(CpuDevice, RecordsNoWorkAndHasNoSnapshot) {
  EXPECT_FALSE(cpu_device().is_asynchronous());
  EXPECT_EQ(cpu_device().make_graph(), nullptr);
  EXPECT_EQ(cpu_device().memory().reserved_bytes, 0u);
  EXPECT_THAT([] { cpu_device().write_memory_snapshot("nowhere"); },
              ThrowsMessage<base::ConfigError>(HasSubstr("on the CPU")));
}

TEST(CudaDevice, IsRefusedWithTheReasonOfThePlugin) {
  const CudaPlugin plugin = load_cuda_plugin();
  if (plugin.handle != nullptr) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THAT([] { open_cuda_device(0); },
              ThrowsMessage<base::ConfigError>(HasSubstr(plugin.reason)));
}

class RangeRecorder final : public Device {
 public:
  at::Device place() const override { return at::kCPU; }
  std::string describe() const override { return "recorder"; }
  at::Tensor read(const at::Tensor& tensor) override { return tensor; }
  std::shared_ptr<void> allocate_host(std::size_t /*size_bytes*/) override { return nullptr; }
  std::unique_ptr<Transfer> start_transfer(std::vector<at::Tensor> /*host*/) override {
    return nullptr;
  }
  void write_memory_snapshot(const std::filesystem::path& /*path*/) override {}
  void push_range(const char* name) override { log += fmt::format("({}", name); }
  void pop_range() override { log += ")"; }

  std::string log;
};

TEST(DeviceRange, NestsAndEndsAlsoAfterAnException) {
  RangeRecorder device;
  try {
    const DeviceRange step(device, "step");
    const DeviceRange forward(device, "forward");
    throw std::runtime_error("in between");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(device.log, "(step(forward))");
}

}  // namespace
}  // namespace paceline::tensor
