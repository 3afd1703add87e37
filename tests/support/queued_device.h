#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/tensor/device.h"
#include "support/queue/fake_gpu.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace paceline::test {

/// Stands for a GPU, as strict as one (see FakeGpu). Writes down what it is asked for. Tensors made
/// on it must not outlive the process's tests of it; ranks that are threads take an index each.
class QueuedDevice final : public tensor::Device {
 public:
  explicit QueuedDevice(int index = 0) : gpu_(FakeGpu::at(index)) {
    gpu_.reset_counts();
    bind_thread();
  }
  ~QueuedDevice() override { FakeGpu::bind_thread(gpu_.place().index(), FakeGpu::kDefaultStream); }
  QueuedDevice(const QueuedDevice&) = delete;
  QueuedDevice& operator=(const QueuedDevice&) = delete;

  FakeGpu& gpu() { return gpu_; }

  at::Device place() const override { return gpu_.place(); }
  std::string describe() const override { return "queued"; }
  bool is_asynchronous() const override { return true; }
  void bind_thread() override { FakeGpu::bind_thread(gpu_.place().index(), kComputeStream); }
  void synchronize() override { gpu_.wait("synchronize"); }
  at::Tensor read(const at::Tensor& tensor) override {
    const std::shared_ptr<void> memory = allocate_host(tensor.nbytes());
    const at::Tensor host = at::from_blob(
        memory.get(), tensor.sizes(), [memory](void*) {}, tensor.scalar_type());
    host.copy_(tensor, /*non_blocking=*/true);
    gpu_.wait("read");
    return host;
  }
  std::shared_ptr<void> allocate_host(std::size_t size_bytes) override {
    return gpu_.allocate_pinned(size_bytes);
  }

  std::unique_ptr<tensor::Transfer> start_transfer(std::vector<at::Tensor> host) override {
    calls.emplace_back("transfer");
    return std::make_unique<Copy>(std::move(host), *this);
  }

  std::unique_ptr<tensor::DeviceGraph> make_graph() override {
    return std::make_unique<Recording>(*this);
  }

  tensor::DeviceMemory memory() const override { return {1000, 3000, 4000}; }
  void write_memory_snapshot(const std::filesystem::path& path) override {
    calls.push_back("snapshot " + path.filename().string());
  }
  void record_memory_history() override { calls.emplace_back("history"); }

  std::vector<std::string> calls;
  int num_host_batches_held = 0;  ///< transfers whose host memory is not given back

 private:
  static constexpr std::int64_t kComputeStream = 1;
  static constexpr std::int64_t kTransferStream = 2;

  class Copy final : public tensor::Transfer {
   public:
    Copy(std::vector<at::Tensor> host, QueuedDevice& device)
        : host_(std::move(host)), device_(device) {
      ++device_.num_host_batches_held;
      const int index = device_.place().index();
      FakeGpu::bind_thread(index, kTransferStream);
      for (const at::Tensor& tensor : host_)
        copies_.push_back(tensor.to(device_.place(), tensor.scalar_type(), /*non_blocking=*/true));
      FakeGpu::bind_thread(index, kComputeStream);
      end_ = device_.gpu_.position();
    }
    ~Copy() override {
      --device_.num_host_batches_held;
      if (!device_.gpu_.is_done(end_)) device_.gpu_.wait("the end of a transfer");
    }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    std::vector<at::Tensor> take() override { return std::move(copies_); }

   private:
    std::vector<at::Tensor> host_;
    std::vector<at::Tensor> copies_;
    QueuedDevice& device_;
    std::int64_t end_ = 0;
  };

  class Recording final : public tensor::DeviceGraph {
   public:
    explicit Recording(QueuedDevice& device) : device_(device) {}
    void record(const std::function<void()>& work) override {
      device_.calls.emplace_back("record");
      device_.gpu_.begin_recording();
      try {
        work();
      } catch (...) {
        device_.gpu_.end_recording();
        throw;
      }
      recording_ = device_.gpu_.end_recording();
    }
    void replay() override {
      device_.calls.emplace_back("replay");
      device_.gpu_.replay(recording_);
    }

   private:
    QueuedDevice& device_;
    FakeGpu::Recording recording_;
  };

  FakeGpu& gpu_;
};

}  // namespace paceline::test
