#include "support/queue/fake_gpu.h"

#include "support/queue/operators.h"

#include <array>
#include <cstring>
#include <utility>

#include <c10/core/impl/VirtualGuardImpl.h>

namespace paceline::test {
namespace {

thread_local std::array<std::int64_t, FakeGpu::kMostDevices> current_streams{};

}  // namespace

FakeGpu& FakeGpu::at(int index) {
  register_fake_gpu();
  static std::array<FakeGpu, kMostDevices> gpus{FakeGpu(0), FakeGpu(1), FakeGpu(2), FakeGpu(3),
                                                FakeGpu(4), FakeGpu(5), FakeGpu(6), FakeGpu(7)};
  return gpus.at(static_cast<std::size_t>(index));
}

std::int64_t FakeGpu::current_stream(int index) {
  return current_streams.at(static_cast<std::size_t>(index));
}

void FakeGpu::set_current_stream(int index, std::int64_t stream) {
  current_streams.at(static_cast<std::size_t>(index)) = stream;
}

void FakeGpu::bind_thread(int index, std::int64_t stream) {
  const c10::impl::VirtualGuardImpl guard(at::kHPU);
  guard.setDevice({at::kHPU, static_cast<c10::DeviceIndex>(index)});
  set_current_stream(index, stream);
}

void FakeGpu::forbid_in_recording(const std::string& what) const {
  if (is_recording())
    TORCH_CHECK(false, what + ": operation not permitted when stream is capturing");
}

void FakeGpu::wait(const std::string& why) {
  const std::lock_guard lock(mutex_);
  forbid_in_recording(why);
  ++counts_.waits;
  counts_.last_wait = why;
  done_ = position_;
  for (const auto& work : std::exchange(late_, {})) work();
  for (const auto& [host, bytes] : std::exchange(watched_, {})) {
    if (std::memcmp(host, bytes.data(), bytes.size()) != 0)
      TORCH_CHECK(false, "host memory was written while the device copied from it");
  }
}

std::shared_ptr<void> FakeGpu::allocate_pinned(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  forbid_in_recording("allocation of pinned memory");
  auto* const memory = new std::byte[bytes];
  pinned_[memory] = bytes;
  return {memory, [this](std::byte* gone) {
            const std::lock_guard lock_again(mutex_);
            pinned_.erase(gone);
            delete[] gone;
          }};
}

bool FakeGpu::is_pinned(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto* const place = static_cast<const std::byte*>(address);
  auto next = pinned_.upper_bound(place);
  if (next == pinned_.begin()) return false;
  --next;
  return place < next->first + next->second;
}

void FakeGpu::note_use(const std::string& what, const at::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  for (const c10::Storage& own : recording_->pool) {
    if (own.is_alias_of(storage)) return;
  }
  recording_->outside.push_back({what, storage.getWeakStorageImpl()});
}

void FakeGpu::queued(const std::string& what, std::function<void()> work,
                     const std::vector<at::Tensor>& uses) {
  const std::lock_guard lock(mutex_);
  ++position_;
  if (!is_recording()) return;
  if (current_stream(index_) != recording_stream_)
    TORCH_CHECK(false, what + ": on a stream that is not recorded, and was not joined");
  for (const at::Tensor& tensor : uses) note_use(what, tensor);
  recording_->work.push_back(std::move(work));
}

void FakeGpu::copies_pageable(const std::string& what) {
  const std::lock_guard lock(mutex_);
  forbid_in_recording(what + " from memory that is not pinned");
  ++counts_.pageable_copies;
}

void FakeGpu::queue_late(const std::string& what, std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  forbid_in_recording(what);
  ++position_;
  late_.push_back(std::move(work));
}

void FakeGpu::must_not_change(const void* host, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto* const begin = static_cast<const std::byte*>(host);
  watched_.emplace_back(host, std::vector(begin, begin + bytes));
}

void FakeGpu::begin_recording() {
  const std::lock_guard lock(mutex_);
  forbid_in_recording("a recording");
  for (const auto& [memory, bytes] : blocks_) before_[memory].assign(memory, memory + bytes);
  recording_stream_ = current_stream(index_);
  if (recording_stream_ == kDefaultStream)
    TORCH_CHECK(false, "work of the default stream cannot be recorded");
  recording_ = std::make_unique<Recording>();
}

FakeGpu::Recording FakeGpu::end_recording() {
  const std::lock_guard lock(mutex_);
  const std::unique_ptr<Recording> recorded = std::move(recording_);
  for (const auto& [memory, bytes] : blocks_) {
    const auto old = before_.find(memory);
    if (old == before_.end()) {
      std::memset(memory, 0xFF, bytes);  // not a number
    } else {
      std::memcpy(memory, old->second.data(), bytes);
    }
  }
  before_.clear();
  return std::move(*recorded);
}

void FakeGpu::replay(const Recording& recording) {
  const std::lock_guard lock(mutex_);
  forbid_in_recording("a replay");
  for (const auto& [what, storage] : recording.outside) {
    if (storage.expired()) TORCH_CHECK(false, what + ": the recording uses memory that was freed");
  }
  ++position_;
  for (const auto& work : recording.work) work();
}

void FakeGpu::add_block(std::byte* memory, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  blocks_[memory] = bytes;
}

void FakeGpu::remove_block(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  blocks_.erase(memory);
  before_.erase(memory);
}

void FakeGpu::keep_in_pool(const c10::Storage& storage) {
  const std::lock_guard lock(mutex_);
  if (is_recording()) recording_->pool.push_back(storage);
}

}  // namespace paceline::test
