#pragma once

#include "paceline/comm/collective.h"
#include "support/queue/fake_gpu.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::test {

/// Stands for NCCL beside a group of threads: collectives of tensors on the fake GPU are queued
/// there, and may be recorded; those of tensors in host memory are the group's, and counted.
class GpuCommunicator final : public comm::Communicator {
 public:
  explicit GpuCommunicator(comm::Communicator& ranks) : ranks_(ranks) {}
  explicit GpuCommunicator(std::unique_ptr<comm::Communicator> ranks)
      : owned_(std::move(ranks)), ranks_(*owned_) {}

  int num_host_collectives = 0;

  int rank() const override { return ranks_.rank(); }
  int world_size() const override { return ranks_.world_size(); }
  std::string backend() const override { return "fake nccl"; }
  std::string describe() const override { return "fake nccl"; }

  std::unique_ptr<comm::Work> all_reduce(const at::Tensor& tensor, comm::ReduceOp op,
                                         std::string_view label) override {
    return run("all_reduce", {tensor},
               [op, label = std::string(label)](auto& ranks, auto& tensors) {
                 return ranks.all_reduce(tensors[0], op, label);
               });
  }
  std::unique_ptr<comm::Work> broadcast(const at::Tensor& tensor, int source_rank,
                                        std::string_view label) override {
    return run("broadcast", {tensor},
               [source_rank, label = std::string(label)](auto& ranks, auto& tensors) {
                 return ranks.broadcast(tensors[0], source_rank, label);
               });
  }
  std::unique_ptr<comm::Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                         std::string_view label) override {
    return run("all_gather", {output, input},
               [label = std::string(label)](auto& ranks, auto& tensors) {
                 return ranks.all_gather(tensors[0], tensors[1], label);
               });
  }
  std::unique_ptr<comm::Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                             std::string_view label) override {
    return run("reduce_scatter", {output, input},
               [label = std::string(label)](auto& ranks, auto& tensors) {
                 return ranks.reduce_scatter(tensors[0], tensors[1], label);
               });
  }
  void barrier() override { ++num_host_collectives, ranks_.barrier(); }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    return ++num_host_collectives, ranks_.all_gather_text(text);
  }
  std::unique_ptr<Communicator> split(int color) override {
    return std::make_unique<GpuCommunicator>(ranks_.split(color));
  }
  void set_timeout(std::chrono::milliseconds timeout) override { ranks_.set_timeout(timeout); }
  void shutdown() override { ranks_.shutdown(); }

 private:
  using Tensors = std::vector<at::Tensor>;

  template <typename Collective>
  std::unique_ptr<comm::Work> run(const char* name, const Tensors& tensors,
                                  const Collective& collective) {
    if (!tensors[0].is_hpu()) {
      ++num_host_collectives;
      return collective(ranks_, tensors);
    }
    Tensors aliases;
    for (const at::Tensor& tensor : tensors) aliases.push_back(host_alias(tensor));
    const auto results = std::make_shared<Tensors>();
    const auto begin = [&ranks = ranks_, aliases, results, collective] {
      results->clear();
      for (const at::Tensor& alias : aliases) results->push_back(alias.clone());
      collective(ranks, *results)->wait();
      aliases[0].view({-1}).view(at::kByte).fill_(0xFF);  // until it is waited for
    };
    begin();
    FakeGpu::at(tensors[0].device().index()).queued(name, begin, tensors);
    return std::make_unique<QueuedWork>(name, tensors,
                                        [results, to = aliases[0]] { to.copy_((*results)[0]); });
  }

  /// What follows its wait() finds the result.
  class QueuedWork final : public comm::Work {
   public:
    QueuedWork(std::string name, Tensors tensors, std::function<void()> end)
        : name_(std::move(name)), tensors_(std::move(tensors)), end_(std::move(end)) {}
    void wait() override {
      end_();
      FakeGpu::at(tensors_[0].device().index()).queued("the end of " + name_, end_, tensors_);
    }

   private:
    std::string name_;
    Tensors tensors_;
    std::function<void()> end_;
  };

  std::unique_ptr<comm::Communicator> owned_;
  comm::Communicator& ranks_;
};

}  // namespace paceline::test
