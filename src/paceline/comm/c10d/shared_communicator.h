#pragma once

#include "paceline/comm/communicator.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::comm {

/// A handle on a group that lives on with its other owner.
class SharedCommunicator final : public Communicator {
 public:
  explicit SharedCommunicator(std::shared_ptr<Communicator> group) : group_(std::move(group)) {}

  int rank() const override { return group_->rank(); }
  int world_size() const override { return group_->world_size(); }
  std::string backend() const override { return group_->backend(); }
  std::string describe() const override { return group_->describe(); }
  std::unique_ptr<Work> all_reduce(const at::Tensor& tensor, ReduceOp op,
                                   std::string_view label) override {
    return group_->all_reduce(tensor, op, label);
  }
  std::unique_ptr<Work> broadcast(const at::Tensor& tensor, int source_rank,
                                  std::string_view label) override {
    return group_->broadcast(tensor, source_rank, label);
  }
  std::unique_ptr<Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                   std::string_view label) override {
    return group_->all_gather(output, input, label);
  }
  std::unique_ptr<Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                       std::string_view label) override {
    return group_->reduce_scatter(output, input, label);
  }
  void barrier() override { group_->barrier(); }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    return group_->all_gather_text(text);
  }
  std::unique_ptr<Communicator> split(int color) override { return group_->split(color); }
  void require_intact() override { group_->require_intact(); }
  void set_timeout(std::chrono::milliseconds timeout) override { group_->set_timeout(timeout); }
  void shutdown() override { group_->shutdown(); }

 private:
  std::shared_ptr<Communicator> group_;
};

}  // namespace paceline::comm
