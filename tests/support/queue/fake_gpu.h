#pragma once

#include "paceline/tensor/aten.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace paceline::test {

/// A GPU that does not exist, as a device of LibTorch's: what a tensor there holds no host
/// code can touch (its addresses are not the memory's), every operator runs the CPU's, so numbers
/// are the CPU's to the last bit, and what a program asks for is as strict as CUDA is: a value that
/// is read back is a wait, and an error while work is recorded; so are copies from memory that is
/// not pinned, allocations of pinned memory and foreign streams. One instance for each device
/// index; each rank's thread takes its own.
class FakeGpu {
 public:
  static constexpr int kMostDevices = 8;
  static constexpr std::int64_t kDefaultStream = 0;

  /// Registers the device type with LibTorch at its first call.
  static FakeGpu& at(int index);

  at::Device place() const { return {at::kHPU, static_cast<c10::DeviceIndex>(index_)}; }

  // What the program did since reset_counts().
  struct Counts {
    int waits = 0;            ///< of the host for the device
    int pageable_copies = 0;  ///< from host memory that is not pinned
    std::string last_wait;    ///< by which operator
  };
  Counts counts() const { return counts_; }
  void reset_counts() { counts_ = {}; }

  /// The host waits for all that was queued. An error while work is recorded.
  void wait(const std::string& why);
  /// A number for what is queued so far; whether a wait since has seen its end.
  std::int64_t position() const { return position_; }
  bool is_done(std::int64_t position) const { return position <= done_; }

  /// Memory that the device copies from and to without a wait.
  std::shared_ptr<void> allocate_pinned(std::size_t bytes);
  bool is_pinned(const void* address) const;

  /// Says that work was queued; it has run already, and runs again at each replay if it is being
  /// recorded. `what` is for messages; `uses` are the tensors there that it reads or writes.
  void queued(const std::string& what, std::function<void()> work,
              const std::vector<at::Tensor>& uses);
  /// Queues work that is done only when the host waits.
  void queue_late(const std::string& what, std::function<void()> work);
  /// The device copies from memory that is not pinned, for which the host waits. An error while
  /// work is recorded.
  void copies_pageable(const std::string& what);
  /// Throws the next time the host waits if these bytes have changed by then.
  void must_not_change(const void* host, std::size_t bytes);

  // One recording at a time.
  void begin_recording();
  /// What was recorded has not run: memory is as it was at the beginning.
  struct Recording {
    std::vector<std::function<void()>> work;
    struct Use {
      std::string what;  ///< for messages
      c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    };
    std::vector<Use> outside;        ///< of the pool
    std::vector<c10::Storage> pool;  ///< memory of its own
  };
  Recording end_recording();
  /// Throws if memory that the recording uses is gone.
  void replay(const Recording& recording);
  bool is_recording() const { return recording_ != nullptr; }
  /// Throws while work is recorded.
  void forbid_in_recording(const std::string& what) const;

  /// Of the calling thread.
  static std::int64_t current_stream(int index);
  static void set_current_stream(int index, std::int64_t stream);
  /// Makes device and stream those of the calling thread.
  static void bind_thread(int index, std::int64_t stream);

  // For the allocator.
  void add_block(std::byte* memory, std::size_t bytes);
  void remove_block(std::byte* memory);
  void keep_in_pool(const c10::Storage& storage);

 private:
  explicit FakeGpu(int index) : index_(index) {}
  void note_use(const std::string& what, const at::Tensor& tensor);

  int index_;
  Counts counts_;
  std::int64_t position_ = 0;
  std::int64_t done_ = 0;
  std::vector<std::function<void()>> late_;
  std::vector<std::pair<const void*, std::vector<std::byte>>> watched_;
  std::map<const std::byte*, std::size_t> pinned_;
  std::unique_ptr<Recording> recording_;
  std::int64_t recording_stream_ = 0;
  std::map<std::byte*, std::size_t> blocks_;
  std::map<std::byte*, std::vector<std::byte>> before_;  ///< the recording
  mutable std::recursive_mutex mutex_;  ///< autograd's thread and the rank's take turns
};

/// The same memory as a tensor of the CPU; a tensor in host memory is given back itself.
at::Tensor host_alias(const at::Tensor& tensor);

}  // namespace paceline::test
