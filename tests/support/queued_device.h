#pragma once

#include "paceline/tensor/aten.h"
#include "paceline/tensor/device.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace paceline::test {

/// Stands for a GPU in host memory: copies what it is given, and runs recorded work when it is
/// replayed, as a GPU does. Writes down what it is asked for.
class QueuedDevice final : public tensor::Device {
 public:
  at::Device place() const override { return at::kCPU; }
  std::string describe() const override { return "queued"; }
  bool is_queued() const override { return true; }
  std::shared_ptr<void> allocate_host(std::size_t size_bytes) override {
    return tensor::cpu_device().allocate_host(size_bytes);
  }

  std::unique_ptr<tensor::Transfer> start_transfer(std::vector<at::Tensor> host) override {
    calls.emplace_back("transfer");
    return std::make_unique<Copy>(std::move(host), *this);
  }

  std::unique_ptr<tensor::RecordedWork> make_recorded_work() override {
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
  class Copy final : public tensor::Transfer {
   public:
    Copy(std::vector<at::Tensor> host, QueuedDevice& device)
        : host_(std::move(host)), device_(device) {
      ++device_.num_host_batches_held;
    }
    ~Copy() override { --device_.num_host_batches_held; }
    Copy(const Copy&) = delete;
    Copy& operator=(const Copy&) = delete;
    std::vector<at::Tensor> take() override {
      std::vector<at::Tensor> copies;
      for (const at::Tensor& tensor : host_) copies.push_back(tensor.clone());
      return copies;
    }

   private:
    std::vector<at::Tensor> host_;
    QueuedDevice& device_;
  };

  class Recording final : public tensor::RecordedWork {
   public:
    explicit Recording(QueuedDevice& device) : device_(device) {}
    void record(const std::function<void()>& work) override {
      device_.calls.emplace_back("record");
      work_ = work;
    }
    void replay() override {
      device_.calls.emplace_back("replay");
      work_();
    }

   private:
    QueuedDevice& device_;
    std::function<void()> work_;
  };
};

}  // namespace paceline::test
