#pragma once

#include "paceline/tensor/fwd.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>

namespace paceline::tensor {

/// What LibTorch holds of a device's memory for this process.
struct DeviceMemory {
  std::uint64_t allocated_bytes = 0;  ///< in tensors
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t reserved_bytes = 0;  ///< got from the driver
};

/// A copy from host memory to the device on its way. Destroying it blocks until the host memory was
/// read.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// The tensors on the device, ready for what is queued from here on. To be called once.
  virtual std::vector<at::Tensor> take() = 0;
};

/// Work recorded once and queued again as a whole, at the same addresses.
class DeviceGraph {
 public:
  virtual ~DeviceGraph() = default;
  /// Records what `work` queues on the device, on this thread or on autograd's, without running it.
  /// `work` must not wait for the device. Called once. Throws what `work` throws, and what the
  /// device cannot record.
  virtual void record(const std::function<void()>& work) = 0;
  virtual void replay() = 0;
};

/// What a rank computes on. All work of a rank is queued in the order of its calls, on one stream;
/// memory that a tensor gives back is used again only by later calls. That order is what makes it
/// safe to free gathered weights while kernels still read them; whatever runs on a stream of its
/// own (collectives, transfers) waits for that order at its start, and is waited for at its end.
class Device {
 public:
  virtual ~Device() = default;

  virtual at::Device place() const = 0;
  /// "cpu", or the GPU's name without its number: what the last bits may depend on.
  virtual std::string model() const { return "cpu"; }
  virtual std::string describe() const = 0;  ///< for the banner
  /// By which NVIDIA's tools know it, "GPU-..."; empty for the CPU.
  virtual std::string uuid() const { return {}; }
  /// Whether calls return before their work is done.
  virtual bool is_asynchronous() const { return false; }

  /// Makes this the device, and its stream the stream, of the calling thread: of the one that
  /// trains, before its first tensor there.
  virtual void bind_thread() {}
  virtual void synchronize() {}
  /// The values of a tensor there in host memory, when what was queued is done: blocks. A tensor in
  /// host memory is given back itself.
  virtual at::Tensor read(const at::Tensor& tensor) = 0;

  /// Host memory that the device copies from fastest; may be called from any thread.
  virtual std::shared_ptr<void> allocate_host(std::size_t size_bytes) = 0;
  /// Starts to copy tensors in such memory beside what is queued; keeps strides.
  virtual std::unique_ptr<Transfer> start_transfer(std::vector<at::Tensor> host) = 0;
  /// nullptr if the device cannot record work.
  virtual std::unique_ptr<DeviceGraph> make_graph() { return nullptr; }

  virtual DeviceMemory memory() const { return {}; }
  /// From here on allocations are kept with their time and place for write_memory_snapshot().
  virtual void record_memory_history() {}
  /// Writes what pytorch.org/memory_viz shows. Throws ConfigError on a device without such memory,
  /// and what writing throws.
  virtual void write_memory_snapshot(const std::filesystem::path& path) = 0;

  /// A named range in a profiler's timeline; ranges nest.
  virtual void push_range(const char* /*name*/) {}
  virtual void pop_range() {}
};

/// Names what the calling thread does until the scope ends.
class DeviceRange {
 public:
  DeviceRange(Device& device, const char* name) : device_(device) { device_.push_range(name); }
  ~DeviceRange() { device_.pop_range(); }
  DeviceRange(const DeviceRange&) = delete;
  DeviceRange& operator=(const DeviceRange&) = delete;

 private:
  Device& device_;
};

/// The CPU: nothing is queued, a transfer hands out what it was given.
Device& cpu_device();

/// The GPU of the rank with this number on its machine, by the CUDA plug-in: the GPU of that number
/// among those that this process sees, or the only one, if a launcher shows each rank its own
/// (srun --gpus-per-task=1). Throws ConfigError when there is no plug-in or no such GPU.
std::unique_ptr<Device> open_cuda_device(int local_rank);

}  // namespace paceline::tensor
