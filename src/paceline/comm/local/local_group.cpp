#include "paceline/comm/local/local_group.h"

#include "paceline/base/error.h"
#include "paceline/comm/collective.h"
#include "paceline/tensor/aten.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace paceline::comm {
namespace local {  // named, as LocalGroup's members hold its types

/// What one rank brings to a collective: `input` is read, `output` is written (the same tensor for
/// collectives that work in place).
struct Contribution {
  at::Tensor input;
  at::Tensor output;
  std::string text;
};

struct Meeting {
  CollectiveSignature signature;
  int first_rank = 0;
  std::map<std::string, LocalGroup> parts;    // of a split, by color
  std::map<int, Contribution> contributions;  // ordered by rank
  bool is_done = false;
};

at::Tensor reduce(const std::map<int, Contribution>& contributions, ReduceOp op) {
  const at::Tensor& first = contributions.at(0).input;
  const bool is_bool = first.scalar_type() == at::kBool;
  const bool is_narrow = at::isReducedFloatingType(first.scalar_type());
  at::Tensor result = first.to(is_narrow ? at::kFloat : first.scalar_type(), /*non_blocking=*/false,
                               /*copy=*/true);
  for (const auto& [rank, contribution] : contributions) {
    if (rank == 0) {
      continue;
    }
    if (op == ReduceOp::kMin) {
      result = at::minimum(result, contribution.input.to(result.scalar_type()));
    } else if (op == ReduceOp::kMax || is_bool) {
      result = at::maximum(result, contribution.input.to(result.scalar_type()));
    } else {
      result.add_(contribution.input);
    }
  }
  return result;
}

void all_reduce(Meeting& meeting) {
  const at::Tensor result =
      reduce(meeting.contributions, static_cast<ReduceOp>(meeting.signature.argument));
  for (auto& [rank, contribution] : meeting.contributions) {
    contribution.output.copy_(result);
  }
}

void broadcast(Meeting& meeting) {
  const Contribution& source = meeting.contributions.at(meeting.signature.argument);
  for (auto& [rank, contribution] : meeting.contributions) {
    if (rank != meeting.signature.argument) {
      contribution.output.copy_(source.input);
    }
  }
}

void all_gather(Meeting& meeting) {
  std::vector<at::Tensor> inputs;
  for (const auto& [rank, source] : meeting.contributions) {
    inputs.push_back(source.input.view({meeting.signature.numel}));
  }
  const at::Tensor all = at::cat(inputs);  // an input may be a slice of an output
  for (auto& [rank, target] : meeting.contributions) target.output.view({-1}).copy_(all);
}

void reduce_scatter(Meeting& meeting) {
  const auto world_size = static_cast<int>(meeting.contributions.size());
  const std::int64_t slice = meeting.signature.numel / world_size;
  for (auto& [rank, target] : meeting.contributions) {
    std::vector<at::Tensor> slices;
    for (const auto& [source_rank, source] : meeting.contributions) {
      slices.push_back(source.input.view({world_size, slice})[rank]);
    }
    sum_slices(target.output, at::stack(slices), world_size);
  }
}

void split(Meeting& meeting) {
  std::map<std::string, int> sizes;
  for (const auto& [rank, contribution] : meeting.contributions) ++sizes[contribution.text];
  for (const auto& [color, size] : sizes) meeting.parts.emplace(color, size);
}

void compute(Meeting& meeting) {
  const at::NoGradGuard no_grad;
  switch (meeting.signature.kind) {
    case CollectiveKind::kAllReduce:
      return all_reduce(meeting);
    case CollectiveKind::kBroadcast:
      return broadcast(meeting);
    case CollectiveKind::kAllGather:
      return all_gather(meeting);
    case CollectiveKind::kReduceScatter:
      return reduce_scatter(meeting);
    case CollectiveKind::kSplit:
      return split(meeting);
    case CollectiveKind::kBarrier:
    case CollectiveKind::kGatherText:
      return;
  }
}

}  // namespace local

using local::Contribution;
using local::Meeting;

class LocalGroup::State {
 public:
  explicit State(int world_size) : world_size_(world_size) {}
  int world_size() const { return world_size_; }

  /// Brings a rank's share to collective number `sequence`; the last rank to come computes it.
  std::shared_ptr<Meeting> meet(std::uint64_t sequence, int rank,
                                const CollectiveSignature& signature, Contribution contribution) {
    std::unique_lock lock(mutex_);
    throw_if_aborted();
    std::shared_ptr<Meeting>& entry = meetings_[sequence];
    if (entry == nullptr) {
      entry = std::make_shared<Meeting>(
          Meeting{.signature = signature, .first_rank = rank, .parts = {}, .contributions = {}});
    }
    const std::shared_ptr<Meeting> meeting = entry;
    if (meeting->signature != signature) {
      abort_locked(fmt::format(
          "the ranks' collectives diverged at #{}: rank {} issued {}, rank {} issued {}", sequence,
          meeting->first_rank, to_text(meeting->signature), rank, to_text(signature)));
      throw_if_aborted();
    }
    meeting->contributions.emplace(rank, std::move(contribution));
    if (std::ssize(meeting->contributions) == world_size_) {
      meetings_.erase(sequence);
      lock.unlock();
      local::compute(*meeting);
      lock.lock();
      meeting->is_done = true;
      changed_.notify_all();
    }
    return meeting;
  }

  void wait(const Meeting& meeting, std::uint64_t sequence, std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    const bool is_over = changed_.wait_for(
        lock, timeout, [&] { return meeting.is_done || abort_reason_.has_value(); });
    if (meeting.is_done) {
      return;
    }
    if (!is_over) {
      std::vector<int> missing;
      for (int rank = 0; rank < world_size_; ++rank) {
        if (!meeting.contributions.contains(rank)) {
          missing.push_back(rank);
        }
      }
      abort_locked(fmt::format("rank {} did not come to collective #{} ({}) within {} ms",
                               fmt::join(missing, ", "), sequence, to_text(meeting.signature),
                               timeout.count()));
    }
    throw_if_aborted();
  }

  void abort(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    abort_locked(reason);
  }

  /// What aborts this group aborts the part too.
  void add_part(const LocalGroup& part) {
    const std::lock_guard lock(mutex_);
    parts_.push_back(part);
    if (abort_reason_) part.abort(*abort_reason_);
  }

 private:
  void abort_locked(const std::string& reason) {
    if (!abort_reason_) {
      abort_reason_ = reason;
    }
    changed_.notify_all();
    for (const LocalGroup& part : parts_) part.abort(reason);
  }

  void throw_if_aborted() const {
    if (abort_reason_) {
      throw base::CommError(*abort_reason_);
    }
  }

  const int world_size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, std::shared_ptr<Meeting>> meetings_;
  std::optional<std::string> abort_reason_;
  std::vector<LocalGroup> parts_;
};

class LocalGroup::Member final : public Communicator {
 public:
  Member(std::shared_ptr<State> state, int rank) : state_(std::move(state)), rank_(rank) {}

  int rank() const override { return rank_; }
  int world_size() const override { return state_->world_size(); }
  std::string backend() const override { return "local"; }
  std::string describe() const override {
    return world_size() == 1 ? "local (one rank)"
                             : fmt::format("local ({} threads of this process)", world_size());
  }

  std::unique_ptr<Work> all_reduce(const at::Tensor& tensor, ReduceOp op,
                                   std::string_view /*label*/) override {
    return issue(CollectiveKind::kAllReduce, static_cast<int>(op), tensor, tensor);
  }
  std::unique_ptr<Work> broadcast(const at::Tensor& tensor, int source_rank,
                                  std::string_view /*label*/) override {
    PACELINE_CHECK(source_rank >= 0 && source_rank < world_size(), "broadcast from rank {} of {}",
                   source_rank, world_size());
    return issue(CollectiveKind::kBroadcast, source_rank, tensor, tensor);
  }
  std::unique_ptr<Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                   std::string_view /*label*/) override {
    check_slices(output, input, world_size());
    return issue(CollectiveKind::kAllGather, 0, output, input);
  }
  std::unique_ptr<Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                       std::string_view /*label*/) override {
    check_slices(input, output, world_size());
    return issue(CollectiveKind::kReduceScatter, 0, output, input);
  }
  void barrier() override { meet_now({.kind = CollectiveKind::kBarrier}, {}); }

  std::vector<std::string> all_gather_text(const std::string& text) override {
    const auto meeting =
        meet_now({.kind = CollectiveKind::kGatherText}, {.input = {}, .output = {}, .text = text});
    std::vector<std::string> texts;
    for (const auto& [rank, contribution] : meeting->contributions) {
      texts.push_back(contribution.text);
    }
    return texts;
  }

  std::unique_ptr<Communicator> split(int color) override;

  void set_timeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void shutdown() override { barrier(); }

 private:
  class MeetingWork final : public Work {
   public:
    MeetingWork(std::shared_ptr<State> state, std::shared_ptr<Meeting> meeting,
                std::uint64_t sequence, std::chrono::milliseconds timeout)
        : state_(std::move(state)),
          meeting_(std::move(meeting)),
          sequence_(sequence),
          timeout_(timeout) {}
    void wait() override { state_->wait(*meeting_, sequence_, timeout_); }

   private:
    std::shared_ptr<State> state_;
    std::shared_ptr<Meeting> meeting_;
    std::uint64_t sequence_;
    std::chrono::milliseconds timeout_;
  };

  std::unique_ptr<Work> issue(CollectiveKind kind, int argument, const at::Tensor& output,
                              const at::Tensor& input) {
    PACELINE_CHECK(input.is_contiguous(), "collectives need contiguous tensors");
    // variable_data(): like a network, the group writes the memory and knows nothing of autograd.
    auto meeting = state_->meet(
        next_sequence_, rank_, signature_of(kind, argument, input),
        {.input = input.variable_data(), .output = output.variable_data(), .text = {}});
    return std::make_unique<MeetingWork>(state_, std::move(meeting), next_sequence_++, timeout_);
  }

  std::shared_ptr<Meeting> meet_now(const CollectiveSignature& signature,
                                    Contribution contribution) {
    const std::uint64_t sequence = next_sequence_++;
    auto meeting = state_->meet(sequence, rank_, signature, std::move(contribution));
    state_->wait(*meeting, sequence, timeout_);
    return meeting;
  }

  std::shared_ptr<State> state_;
  int rank_;
  std::uint64_t next_sequence_ = 1;
  std::chrono::milliseconds timeout_ = std::chrono::minutes(10);
};

std::unique_ptr<Communicator> LocalGroup::Member::split(int color) {
  const std::string own = std::to_string(color);
  const auto meeting =
      meet_now({.kind = CollectiveKind::kSplit}, {.input = {}, .output = {}, .text = own});
  int rank = 0;
  for (const auto& [other, contribution] : meeting->contributions) {
    if (other < rank_ && contribution.text == own) ++rank;
  }
  const LocalGroup& part = meeting->parts.at(own);
  if (rank == 0) state_->add_part(part);
  auto member = part.join(rank);
  member->set_timeout(timeout_);
  return member;
}

LocalGroup::LocalGroup(int world_size) : state_(std::make_shared<State>(world_size)) {
  PACELINE_CHECK(world_size >= 1, "a group of {} ranks", world_size);
}

std::unique_ptr<Communicator> LocalGroup::join(int rank) const {
  PACELINE_CHECK(rank >= 0 && rank < state_->world_size(), "rank {} of a group of {}", rank,
                 state_->world_size());
  return std::make_unique<Member>(state_, rank);
}

void LocalGroup::abort(const std::string& reason) const { state_->abort(reason); }

}  // namespace paceline::comm
