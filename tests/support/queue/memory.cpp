#include "support/queue/memory.h"

#include "support/queue/fake_gpu.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <ATen/EmptyTensor.h>
#include <ATen/detail/HPUHooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

namespace paceline::test {
namespace {

// Added to an address it makes one that no process can use.
constexpr std::uintptr_t kDistance = std::uintptr_t{1} << 62;

std::byte* memory_of(void* address) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) - kDistance);
}

thread_local c10::DeviceIndex current_device = 0;
std::atomic<bool> is_registered{false};

FakeGpu& gpu_of(at::Device device) { return FakeGpu::at(device.index()); }

void* address_of(std::byte* memory) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory) + kDistance);
}

class FakeAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const at::Device place(at::kHPU, current_device);
    if (bytes == 0) return {nullptr, place};
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    gpu_of(place).add_block(memory, bytes);
    return {address_of(memory), new Block{memory, place}, &free_block, place};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(memory_of(to), memory_of(const_cast<void*>(from)), bytes);
  }

 private:
  struct Block {
    std::byte* memory;
    at::Device place;
  };
  static void free_block(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    gpu_of(block->place).remove_block(block->memory);
    std::free(block->memory);
  }
};

FakeAllocator* allocator() {
  static FakeAllocator the_one;
  return &the_one;
}

class FakeGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return at::kHPU; }
  c10::Device exchangeDevice(c10::Device device) const override {
    return {at::kHPU, std::exchange(current_device, device.index())};
  }
  c10::Device getDevice() const override { return {at::kHPU, current_device}; }
  void setDevice(c10::Device device) const override { current_device = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    current_device = device.index();
  }
  c10::Stream getStream(c10::Device device) const override {
    const c10::Device place = with_index(device);
    return c10::Stream(c10::Stream::UNSAFE, place, FakeGpu::current_stream(place.index()));
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, with_index(device));
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = getStream(stream.device());
    FakeGpu::set_current_stream(stream.device_index(), stream.id());
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return FakeGpu::kMostDevices; }
  // Work runs when it is queued, so events have nothing to order.
  void record(void** /*event*/, const c10::Stream& /*stream*/, const c10::DeviceIndex /*device*/,
              const c10::EventFlag /*flag*/) const override {}
  void block(void* /*event*/, const c10::Stream& /*stream*/) const override {}
  void destroyEvent(void* /*event*/, const c10::DeviceIndex /*device*/) const noexcept override {}
  void recordDataPtrOnStream(const c10::DataPtr& /*data*/,
                             const c10::Stream& /*stream*/) const override {}
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    FakeGpu::at(device).wait("synchronizeDevice");
  }

 private:
  static c10::Device with_index(c10::Device device) {
    return device.has_index() ? device : c10::Device(at::kHPU, current_device);
  }
};

struct FakeHooks final : at::HPUHooksInterface {
  explicit FakeHooks(at::HPUHooksArgs /*none*/) {}
  void init() const override {}
  // Not before it is used: LibTorch takes no second kind of accelerator beside a real one.
  bool hasHPU() const override { return is_registered; }
  bool isBuilt() const override { return is_registered; }
  bool isAvailable() const override { return is_registered; }
  bool hasPrimaryContext(c10::DeviceIndex /*index*/) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return FakeGpu::kMostDevices; }
  c10::DeviceIndex getCurrentDevice() const override { return current_device; }
};

void grow(const c10::Storage& storage, std::size_t bytes) {
  const c10::DeviceGuard guard(storage.device());
  c10::DataPtr larger = allocator()->allocate(bytes);
  if (storage.nbytes() > 0)
    allocator()->copy_data(larger.get(), storage.data(), std::min(bytes, storage.nbytes()));
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(larger));
  storage.unsafeGetStorageImpl()->set_nbytes(bytes);
}

at::Tensor new_tensor(const at::Tensor& tensor) {
  gpu_of(tensor.device()).keep_in_pool(tensor.storage());
  return tensor;
}

at::Tensor empty_memory_format(c10::IntArrayRef size, std::optional<at::ScalarType> dtype,
                               std::optional<at::Layout> /*layout*/,
                               std::optional<at::Device> device, std::optional<bool> /*pinned*/,
                               std::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return new_tensor(at::Tensor(at::detail::empty_generic(size, allocator(),
                                                         c10::DispatchKeySet(c10::DispatchKey::HPU),
                                                         c10::dtype_or_default(dtype), format)));
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout> /*layout*/,
                         std::optional<at::Device> device, std::optional<bool> /*pinned*/) {
  const c10::OptionalDeviceGuard guard(device);
  return new_tensor(at::Tensor(at::detail::empty_strided_generic(
      size, stride, allocator(), c10::DispatchKeySet(c10::DispatchKey::HPU),
      c10::dtype_or_default(dtype))));
}

at::Tensor strided_view(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride,
                        std::optional<std::int64_t> offset) {
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(self.storage()), self.key_set(), self.dtype());
  auto* const impl = result.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(size, stride);
  impl->set_storage_offset(offset.value_or(self.storage_offset()));
  return result;
}

/// A view in the strides that the CPU finds.
at::Tensor view(const at::Tensor& self, c10::IntArrayRef size) {
  const at::Tensor viewed = host_alias(self).view(size);
  return strided_view(self, viewed.sizes(), viewed.strides(), self.storage_offset());
}

at::Tensor reshape_alias(const at::Tensor& self, c10::IntArrayRef size, c10::IntArrayRef stride) {
  return strided_view(self, size, stride, self.storage_offset());
}

at::Tensor& set_storage(at::Tensor& self, c10::Storage source, std::int64_t offset,
                        c10::IntArrayRef size, c10::IntArrayRef stride) {
  auto* const impl = self.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(source));
  impl->set_sizes_and_strides(size, stride);
  impl->set_storage_offset(offset);
  return self;
}

const at::Tensor& resize(const at::Tensor& self, c10::IntArrayRef size,
                         std::optional<at::MemoryFormat> /*format*/) {
  auto* const impl = self.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(size);
  const std::size_t bytes =
      static_cast<std::size_t>(self.numel() + self.storage_offset()) * self.itemsize();
  if (self.storage().nbytes() < bytes) grow(self.storage(), bytes);
  return self;
}

void register_kernels() {
  static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::HPU, __FILE__,
                                __LINE__);
  library.impl("empty.memory_format", &empty_memory_format);
  library.impl("empty_strided", &empty_strided);
  library.impl("as_strided", &strided_view);
  library.impl("view", &view);
  library.impl("_reshape_alias", &reshape_alias);
  library.impl("set_.source_Storage_storage_offset", &set_storage);
  library.impl("resize_", &resize);
}

// Before the first backward pass of the process, which starts a thread for each device there is.
C10_REGISTER_GUARD_IMPL(HPU, FakeGuard)

}  // namespace
}  // namespace paceline::test

namespace at {

using HPUHooks = paceline::test::FakeHooks;  // the name that LibTorch looks for
REGISTER_HPU_HOOKS(HPUHooks)

}  // namespace at

namespace paceline::test {

void register_memory() {
  is_registered = true;
  c10::SetAllocator(at::kHPU, allocator());
  register_kernels();
}

at::Tensor host_alias(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_hpu()) return tensor;
  const auto options = tensor.options().device(at::kCPU).requires_grad(false);
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  void* const address = const_cast<void*>(tensor.unsafeGetTensorImpl()->data());
  return at::from_blob(memory_of(address), tensor.sizes(), tensor.strides(), options);
}

}  // namespace paceline::test
