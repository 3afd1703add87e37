#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::test {

/// What every rank asked of its groups, in order: operation, label, dtype and number of elements.
/// Communicators see that two calls which meet are of one kind and shape; the ledger also sees what
/// never met, what was swallowed as an expected error, and calls that are alike but mean different
/// things. Thread-safe.
class CollectiveLedger {
 public:
  void add(const std::string& group, int rank, std::string call) {
    const std::lock_guard lock(mutex_);
    calls_[group][rank].push_back(std::move(call));
  }

  /// The first call of any group in which the ranks differ, in words; nothing if there is none. A
  /// rank that did not reach the end may have made fewer calls than others.
  std::optional<std::string> first_difference(int world_size, bool all_reached_the_end) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [group, ranks] : calls_) {
      const auto& [first, expected] = *ranks.begin();
      if (all_reached_the_end && group == kWorld && std::ssize(ranks) != world_size)
        return fmt::format("{}: {} of {} ranks made a call", group, ranks.size(), world_size);
      for (const auto& [rank, calls] : ranks) {
        const std::size_t common = std::min(calls.size(), expected.size());
        const std::size_t end =
            all_reached_the_end ? std::max(calls.size(), expected.size()) : common;
        for (std::size_t i = 0; i < end; ++i) {
          const std::string own = i < calls.size() ? calls[i] : "nothing more";
          const std::string other = i < expected.size() ? expected[i] : "nothing more";
          if (own != other) {
            return fmt::format("{}, call {}: rank {} asked for {}, rank {} for {}", group, i + 1,
                               first, other, rank, own);
          }
        }
      }
    }
    return std::nullopt;
  }

  static constexpr const char* kWorld = "world";

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::map<int, std::vector<std::string>>> calls_;  // by group and rank
};

/// Enters what is asked of a communicator, and of the groups split from it, into a ledger.
class LedgerCommunicator final : public comm::Communicator {
 public:
  LedgerCommunicator(std::unique_ptr<comm::Communicator> inner, CollectiveLedger& ledger,
                     std::string group = CollectiveLedger::kWorld)
      : inner_(std::move(inner)), ledger_(ledger), group_(std::move(group)) {}

  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  std::string backend() const override { return inner_->backend(); }
  std::string describe() const override { return inner_->describe(); }

  std::unique_ptr<comm::Work> all_reduce(const at::Tensor& tensor, comm::ReduceOp op,
                                         std::string_view label) override {
    enter(fmt::format("all_reduce {}", static_cast<int>(op)), tensor, label);
    return inner_->all_reduce(tensor, op, label);
  }
  std::unique_ptr<comm::Work> broadcast(const at::Tensor& tensor, int source_rank,
                                        std::string_view label) override {
    enter(fmt::format("broadcast from {}", source_rank), tensor, label);
    return inner_->broadcast(tensor, source_rank, label);
  }
  std::unique_ptr<comm::Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                         std::string_view label) override {
    enter("all_gather", input, label);
    return inner_->all_gather(output, input, label);
  }
  std::unique_ptr<comm::Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                             std::string_view label) override {
    enter("reduce_scatter", input, label);
    return inner_->reduce_scatter(output, input, label);
  }
  void barrier() override {
    ledger_.add(group_, rank(), "barrier");
    inner_->barrier();
  }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    ledger_.add(group_, rank(), "all_gather_text");
    return inner_->all_gather_text(text);
  }
  std::unique_ptr<comm::Communicator> split(int color) override {
    ledger_.add(group_, rank(), "split");
    return std::make_unique<LedgerCommunicator>(
        inner_->split(color), ledger_,
        fmt::format("{}, split {} color {}", group_, ++num_splits_, color));
  }
  void set_timeout(std::chrono::milliseconds timeout) override { inner_->set_timeout(timeout); }
  void shutdown() override { inner_->shutdown(); }

 private:
  void enter(const std::string& what, const at::Tensor& tensor, std::string_view label) {
    ledger_.add(group_, rank(),
                fmt::format("{} of {} {} '{}'", what, tensor.numel(),
                            c10::toString(tensor.scalar_type()), label));
  }

  std::unique_ptr<comm::Communicator> inner_;
  CollectiveLedger& ledger_;
  std::string group_;
  int num_splits_ = 0;
};

}  // namespace paceline::test
