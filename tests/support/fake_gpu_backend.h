#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace paceline::test {

/// What backends were asked for, in order.
class Journal {
 public:
  void write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Stands for a GPU's backend, for tensors of the meta device. Its collectives have lost a peer:
/// they end when they are aborted, without a word, as what waits on a stream does.
class FakeGpuBackend final : public c10d::Backend {
 public:
  FakeGpuBackend(std::string name, int rank, int size, Journal& journal)
      : Backend(rank, size), name_(std::move(name)), journal_(journal) {}
  ~FakeGpuBackend() override { journal_.write(name_ + " is destroyed"); }

  /// Called by abort(), before what waits ends.
  std::function<void()> on_abort = [] {};
  /// Called when a collective begins.
  std::function<void()> on_collective = [] {};
  /// Thrown by the next collectives.
  std::string refusal;
  std::atomic<c10d::ErrorType> error = c10d::ErrorType::SUCCESS;

  const std::string getBackendName() const override { return "fake gpu"; }
  c10d::ErrorType getError() override { return error; }
  void setTimeout(std::chrono::milliseconds /*timeout*/) override {}
  void shutdown() override { journal_.write(name_ + " shuts down"); }

  void abort() override {
    journal_.write(name_ + " aborts");
    on_abort();
    const std::lock_guard lock(mutex_);
    is_aborted_ = true;
    changed_.notify_all();
  }
  void await_abort() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_aborted_; });
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& /*tensors*/,
                                           const c10d::AllreduceOptions& /*options*/) override {
    on_collective();
    if (!refusal.empty()) throw std::runtime_error(refusal);
    return c10::make_intrusive<LostWork>(*this);
  }

 private:
  class LostWork final : public c10d::Work {
   public:
    explicit LostWork(FakeGpuBackend& backend) : backend_(backend) {}
    bool wait(std::chrono::milliseconds /*timeout*/) override {
      backend_.await_abort();
      return true;
    }

   private:
    FakeGpuBackend& backend_;
  };

  std::string name_;
  Journal& journal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_aborted_ = false;
};

}  // namespace paceline::test
