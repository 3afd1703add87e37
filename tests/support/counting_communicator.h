#pragma once

#include "paceline/comm/collective.h"
#include "paceline/comm/communicator.h"
#include "paceline/tensor/aten.h"

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::test {

/// One collective as a rank asks for it.
struct CountedCall {
  comm::CollectiveKind kind = comm::CollectiveKind::kBarrier;
  std::int64_t bytes = 0;  ///< that this rank brings

  auto operator<=>(const CountedCall&) const = default;
};

/// Writes down what a rank asks of its communicator; parts of the group are not counted.
class CountingCommunicator final : public comm::Communicator {
 public:
  /// `inner` must outlive it.
  explicit CountingCommunicator(comm::Communicator& inner) : inner_(inner) {}

  std::vector<CountedCall> take_calls() { return std::exchange(calls_, {}); }

  int rank() const override { return inner_.rank(); }
  int world_size() const override { return inner_.world_size(); }
  std::string backend() const override { return inner_.backend(); }
  std::string describe() const override { return inner_.describe(); }
  std::unique_ptr<comm::Work> all_reduce(const at::Tensor& tensor, comm::ReduceOp op,
                                         std::string_view label) override {
    count(comm::CollectiveKind::kAllReduce, tensor);
    return inner_.all_reduce(tensor, op, label);
  }
  std::unique_ptr<comm::Work> broadcast(const at::Tensor& tensor, int source_rank,
                                        std::string_view label) override {
    count(comm::CollectiveKind::kBroadcast, tensor);
    return inner_.broadcast(tensor, source_rank, label);
  }
  std::unique_ptr<comm::Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                         std::string_view label) override {
    count(comm::CollectiveKind::kAllGather, input);
    return inner_.all_gather(output, input, label);
  }
  std::unique_ptr<comm::Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                             std::string_view label) override {
    count(comm::CollectiveKind::kReduceScatter, input);
    return inner_.reduce_scatter(output, input, label);
  }
  void barrier() override {
    calls_.push_back({comm::CollectiveKind::kBarrier, 0});
    inner_.barrier();
  }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    calls_.push_back({comm::CollectiveKind::kGatherText, std::ssize(text)});
    return inner_.all_gather_text(text);
  }
  std::unique_ptr<comm::Communicator> split(int color) override { return inner_.split(color); }
  void set_timeout(std::chrono::milliseconds timeout) override { inner_.set_timeout(timeout); }
  void shutdown() override { inner_.shutdown(); }

 private:
  void count(comm::CollectiveKind kind, const at::Tensor& tensor) {
    calls_.push_back({kind, static_cast<std::int64_t>(tensor.nbytes())});
  }

  comm::Communicator& inner_;
  std::vector<CountedCall> calls_;
};

}  // namespace paceline::test
