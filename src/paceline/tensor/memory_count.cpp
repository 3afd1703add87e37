#include "paceline/tensor/memory_count.h"

#include "paceline/tensor/aten.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include <c10/core/CPUAllocator.h>
#include <malloc.h>

namespace paceline::tensor {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Stands before LibTorch's allocator. What it gives out lies as before, so that the raw interface
/// stays.
class CountingAllocator final : public c10::Allocator {
 public:
  /// LibTorch keeps a pointer to its allocator for ever, and tensors may outlive main(): hence the
  /// one object per process, which is never destroyed.
  static CountingAllocator& instance() {
    static auto* const allocator = new CountingAllocator();
    return *allocator;
  }

  c10::DataPtr allocate(std::size_t size_bytes) override {
    c10::DataPtr data = below_.allocate(size_bytes);
    if (!data.compare_exchange_deleter(below_.raw_deleter(), &release)) return data;
    const auto size = static_cast<std::int64_t>(malloc_usable_size(data.get()));
    const std::int64_t now = current_.fetch_add(size, std::memory_order_relaxed) + size;
    if (now > limit_.load(std::memory_order_relaxed)) refuse(size_bytes, now);
    raise(peak_, now);
    return data;
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

  TensorMemory memory() const { return {current_.load(), peak_.load(), refused_.load()}; }
  void restart_peak() {
    peak_ = current_.load();
    refused_ = 0;
  }
  void set_limit(std::int64_t bytes) { limit_ = bytes; }

 private:
  static void raise(std::atomic<std::int64_t>& most, std::int64_t now) {
    std::int64_t before = most.load(std::memory_order_relaxed);
    while (now > before && !most.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
    }
  }

  /// What is given back on the way out no longer counts.
  void refuse(std::size_t size_bytes, std::int64_t now) {
    raise(refused_, now);
    TORCH_CHECK_WITH(OutOfMemoryError, false, "you tried to allocate ", size_bytes,
                     " bytes, with which tensors would hold ", now, " of the ", limit_.load(),
                     " that they may");
  }

  static void release(void* data) {
    CountingAllocator& self = instance();
    self.current_.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(data)),
                            std::memory_order_relaxed);
    self.below_.raw_deleter()(data);
  }

  c10::Allocator& below_ = *c10::GetDefaultCPUAllocator();
  std::atomic<std::int64_t> current_{0};
  std::atomic<std::int64_t> peak_{0};
  std::atomic<std::int64_t> refused_{0};
  std::atomic<std::int64_t> limit_{kNoLimit};
};

}  // namespace

void count_tensor_memory() {
  [[maybe_unused]] static const bool is_counting = [] {
    c10::SetCPUAllocator(&CountingAllocator::instance());
    return true;
  }();
}

TensorMemory tensor_memory() { return CountingAllocator::instance().memory(); }

void restart_peak() { CountingAllocator::instance().restart_peak(); }

void limit_tensor_memory(std::optional<std::int64_t> bytes) {
  CountingAllocator::instance().set_limit(bytes.value_or(kNoLimit));
}

}  // namespace paceline::tensor
