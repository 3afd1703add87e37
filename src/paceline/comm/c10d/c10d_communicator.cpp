#include "paceline/comm/c10d/c10d_communicator.h"

#include "paceline/base/error.h"
#include "paceline/comm/c10d/c10d_types.h"
#include "paceline/comm/c10d/gpu_backends.h"
#include "paceline/comm/c10d/peer_watch.h"
#include "paceline/comm/c10d/shared_communicator.h"
#include "paceline/comm/collective.h"
#include "paceline/comm/flight_recorder.h"
#include "paceline/comm/local/local_group.h"
#include "paceline/comm/nodes/node_backend.h"
#include "paceline/tensor/aten.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <ranges>
#include <stop_token>
#include <thread>
#include <utility>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {
namespace {

/// What a run's group has in common with its parts, on one rank.
struct Common {
  /// A collective that was given up may be at work still, in any of them.
  std::atomic<bool> is_abandoned = false;
  /// Shared with the listeners' threads, which may outlive the group.
  std::shared_ptr<GpuBackends> gpu = std::make_shared<GpuBackends>();
  std::shared_ptr<const PeerWatch> run_watch = {};  ///< of the group itself
};

class C10dCommunicator final : public Communicator {
 public:
  C10dCommunicator(Backends backends, c10::intrusive_ptr<c10d::Store> store,
                   const C10dGroupOptions& options,
                   std::shared_ptr<Common> common = std::make_shared<Common>())
      : backends_(std::move(backends)),
        store_(std::move(store)),
        options_(options),
        recorder_(std::make_shared<FlightRecorder>()),
        common_(std::move(common)),
        watch_(start_watch()),
        overdue_watch_(start_overdue_watch()) {}

  ~C10dCommunicator() override {
    if (!is_shut_down_) end_on_gpu();
    backends_.gpu.reset();  // the last owner ends it
    // Gloo's end would wait for a collective that does not end: the process is about to.
    if (common_->is_abandoned) static_cast<void>(backends_.host.release());
  }
  C10dCommunicator(const C10dCommunicator&) = delete;
  C10dCommunicator& operator=(const C10dCommunicator&) = delete;

  int rank() const override { return backends_.host->getRank(); }
  int world_size() const override { return backends_.host->getSize(); }
  std::string backend() const override {
    return (backends_.gpu ? backends_.gpu : backends_.host)->getBackendName();
  }
  std::string describe() const override { return options_.description; }

  std::unique_ptr<Work> all_reduce(const at::Tensor& tensor, ReduceOp op,
                                   std::string_view label) override {
    PACELINE_CHECK(tensor.is_contiguous(), "collectives need contiguous tensors");
    const std::uint64_t sequence =
        issue(signature_of(CollectiveKind::kAllReduce, static_cast<int>(op), tensor), label);
    return launch(sequence, place_of(tensor), [&] {
      std::vector<at::Tensor> tensors{tensor.variable_data()};
      c10d::AllreduceOptions options;
      options.reduceOp = to_c10d(op, tensor.scalar_type());
      options.timeout = options_.timeout;
      return backend_of(tensor).allreduce(tensors, options);
    });
  }

  std::unique_ptr<Work> broadcast(const at::Tensor& tensor, int source_rank,
                                  std::string_view label) override {
    const std::uint64_t sequence =
        issue(signature_of(CollectiveKind::kBroadcast, source_rank, tensor), label);
    return launch(sequence, place_of(tensor), [&] {
      std::vector<at::Tensor> tensors{as_bytes(tensor)};
      c10d::BroadcastOptions options;
      options.rootRank = source_rank;
      options.timeout = options_.timeout;
      return backend_of(tensor).broadcast(tensors, options);
    });
  }

  std::unique_ptr<Work> all_gather(const at::Tensor& output, const at::Tensor& input,
                                   std::string_view label) override {
    check_slices(output, input, world_size());
    const std::uint64_t sequence = issue(signature_of(CollectiveKind::kAllGather, 0, input), label);
    return launch(sequence, place_of(input), [&] { return gather_bytes(output, input); });
  }

  std::unique_ptr<Work> reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                       std::string_view label) override {
    check_slices(input, output, world_size());
    const std::uint64_t sequence =
        issue(signature_of(CollectiveKind::kReduceScatter, 0, input), label);
    if (!input.is_cpu() || knows_nodes(*backends_.host)) {
      return launch(sequence, place_of(input), [&] {
        at::Tensor target = output.variable_data();
        at::Tensor source = input.variable_data();
        c10d::ReduceScatterOptions options;
        options.timeout = options_.timeout;
        return backend_of(input)._reduce_scatter_base(target, source, options);
      });
    }
    // Gloo's own reduce-scatter is a whole all-reduce in the tensor's dtype. Exchanging slices
    // moves half the bytes, and adding them here keeps the order and the precision in our hands.
    const at::Tensor slices = at::empty_like(input);
    auto finish = [this, slices, output = output.variable_data()] {
      sum_slices(output, slices, world_size());
    };
    return launch(
        sequence, Place::kHost,
        [&] {
          at::Tensor received = as_bytes(slices);
          at::Tensor sent = as_bytes(input);
          std::vector<std::int64_t> equal_splits;
          c10d::AllToAllOptions options;
          options.timeout = options_.timeout;
          return backends_.host->alltoall_base(received, sent, equal_splits, equal_splits, options);
        },
        std::move(finish));
  }

  void barrier() override {
    const std::uint64_t sequence = issue({.kind = CollectiveKind::kBarrier}, {});
    launch(sequence, Place::kHost, [&] {
      c10d::BarrierOptions options;
      options.timeout = options_.timeout;
      return backends_.host->barrier(options);
    })->wait();
  }

  std::vector<std::string> all_gather_text(const std::string& text) override {
    return gather_texts(*this, text);
  }
  std::unique_ptr<Communicator> split(int color) override;

  void require_intact() override { check_gpu(newest_); }
  void set_timeout(std::chrono::milliseconds timeout) override {
    options_.timeout = timeout;
    backends_.host->setTimeout(timeout);
    if (backends_.gpu) backends_.gpu->setTimeout(timeout);
  }

  void shutdown() override {
    if (std::exchange(is_shut_down_, true)) return;
    // All ranks made their parts in one order, so going back through them no two wait crosswise.
    for (const auto& part : parts_ | std::views::reverse) part->shutdown();
    barrier();
    constexpr std::chrono::milliseconds kLongestLeave{30'000};  // nobody computes any more
    watch_->leave(std::min(options_.timeout, kLongestLeave));
    if (backends_.gpu) backends_.gpu->shutdown();
    backends_.host->shutdown();
  }

 private:
  /// The GPU's collectives of this rank end when another rank's have failed.
  std::shared_ptr<PeerWatch> start_watch() {
    if (backends_.gpu) common_->gpu->add(backends_.gpu);
    auto watch = std::make_shared<PeerWatch>(store_, rank(), world_size(), recorder_,
                                             [gpu = common_->gpu] { gpu->abort(); });
    if (!common_->run_watch) common_->run_watch = watch;
    return watch;
  }

  /// Who waits for the GPU looks at no signal: what it waits for ends when the time is over that a
  /// signal left to this process, and so do the ranks that wait for it and may have got none.
  std::jthread start_overdue_watch() {
    const bool is_part = common_->run_watch != watch_;
    if (!backends_.gpu || options_.interruption == nullptr || is_part) return {};
    return std::jthread([common = common_,
                         interruption = options_.interruption](const std::stop_token& group_ends) {
      if (!interruption->wait_until_over(group_ends)) return;
      common->run_watch->wake_all();
      common->gpu->abort();
    });
  }

  using Finish = std::function<void()>;
  enum class Place : std::uint8_t { kHost, kGpu };

  static Place place_of(const at::Tensor& tensor) {
    return tensor.is_cpu() ? Place::kHost : Place::kGpu;
  }

  class C10dWork final : public Work {
   public:
    C10dWork(C10dCommunicator& communicator, std::uint64_t sequence,
             c10::intrusive_ptr<c10d::Work> work, Place place, Finish finish)
        : communicator_(communicator),
          sequence_(sequence),
          work_(std::move(work)),
          place_(place),
          finish_(std::move(finish)) {}

    void wait() override {
      communicator_.await(sequence_, *work_, place_);
      if (finish_) {
        finish_();
      }
      communicator_.recorder_->complete(sequence_);
    }

   private:
    C10dCommunicator& communicator_;
    std::uint64_t sequence_;
    c10::intrusive_ptr<c10d::Work> work_;
    Place place_;
    Finish finish_;
  };

  c10d::Backend& backend_of(const at::Tensor& tensor) const {
    if (tensor.is_cpu()) return *backends_.host;
    PACELINE_CHECK(backends_.gpu, "a tensor on a GPU, and a group that was not connected for GPUs");
    return *backends_.gpu;
  }

  c10::intrusive_ptr<c10d::Work> gather_bytes(const at::Tensor& output, const at::Tensor& input) {
    at::Tensor target = as_bytes(output);
    at::Tensor source = as_bytes(input);
    c10d::AllgatherOptions options;
    options.timeout = options_.timeout;
    return backend_of(input)._allgather_base(target, source, options);
  }

  std::uint64_t issue(const CollectiveSignature& signature, std::string_view label) {
    if (is_broken_) {
      throw base::CommError(
          "the communicator is unusable: an earlier collective failed (see the first error)");
    }
    const std::uint64_t sequence = newest_ = recorder_->issue(signature, label);
    check_gpu(sequence);
    if (static_cast<std::int64_t>(sequence) <= options_.checked_collectives) {
      compare_with_peers(sequence, signature);
    }
    return sequence;
  }

  /// What a GPU's collective was waiting for can have ended without a word on this thread.
  void check_gpu(std::uint64_t sequence) {
    if (const std::string cause = common_->gpu->failure(); !cause.empty())
      fail(sequence, is_over() ? kNoTimeLeft : cause);
  }

  /// Ends this rank's collectives on the GPU, and those of the ranks that wait for it there.
  void end_on_gpu() {
    if (common_->gpu->empty()) return;
    if (!is_interrupted()) common_->run_watch->wake_all();
    common_->gpu->abort();
  }

  void compare_with_peers(std::uint64_t sequence, const CollectiveSignature& signature) {
    const at::Tensor own = at::full({1}, hash(signature), at::kLong);
    const at::Tensor all = at::empty({world_size()}, at::kLong);
    await(sequence, *start(sequence, [&] { return gather_bytes(all, own); }), Place::kHost);
    if (!all.eq(own).all().item<bool>()) {
      fail(sequence, "the ranks' collectives differ");
    }
  }

  template <typename Begin>
  c10::intrusive_ptr<c10d::Work> start(std::uint64_t sequence, const Begin& begin) {
    try {
      return begin();
    } catch (const std::exception& error) {
      fail(sequence, first_line(error));
    }
  }

  template <typename Begin>
  std::unique_ptr<Work> launch(std::uint64_t sequence, Place place, const Begin& begin,
                               Finish finish = {}) {
    return std::make_unique<C10dWork>(*this, sequence, start(sequence, begin), place,
                                      std::move(finish));
  }

  void await(std::uint64_t sequence, c10d::Work& work, Place place) {
    try {
      auto next_look = std::chrono::steady_clock::now() + options_.long_wait;
      auto wait = options_.long_wait;
      while (!ends_soon(work, place)) {
        if (is_over() && !work.isCompleted()) {
          common_->is_abandoned = true;
          fail(sequence, kNoTimeLeft);
        }
        if (std::chrono::steady_clock::now() < next_look) continue;
        if (watch_->waits_in_vain()) {
          common_->is_abandoned = true;
          fail(sequence, "another rank waits for another collective");
        }
        wait *= 2;
        next_look = std::chrono::steady_clock::now() + wait;
      }
    } catch (const base::Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      fail(sequence, first_line(error));
    }
    if (place == Place::kGpu) check_gpu(sequence);
  }

  static constexpr const char* kNoTimeLeft = "it did not end in the time that was left";

  bool is_interrupted() const {
    return options_.interruption != nullptr && options_.interruption->is_requested();
  }

  bool is_over() const {
    return options_.interruption != nullptr && options_.interruption->is_over();
  }

  /// Waits a moment; false when the work goes on. Only what is on the host blocks its caller.
  bool ends_soon(c10d::Work& work, Place place) const {
    constexpr std::chrono::milliseconds kLookAround{250};
    if (place == Place::kGpu || work.isCompleted()) {
      work.wait();
      return true;
    }
    try {
      work.wait(kLookAround);
      return true;
    } catch (const std::exception&) {
      return false;  // it goes on, or has failed and says so when it is asked again
    }
  }

  [[noreturn]] void fail(std::uint64_t sequence, const std::string& cause) {
    if (is_interrupted()) {
      is_broken_ = true;  // the others have stopped, too, so there is nobody to ask
      end_on_gpu();
      throw base::Interrupted(
          options_.interruption->signal(),
          fmt::format("waiting for the other ranks in collective #{}: {}", sequence, cause));
    }
    if (is_broken_.exchange(true)) {
      throw base::CommError(
          fmt::format("collective #{} failed after an earlier one did: {}", sequence, cause));
    }
    CollectiveFailure failure{
        .rank = rank(), .sequence = sequence, .cause = cause, .histories = {}};
    watch_->ask_all(failure, options_.failure_grace);
    end_on_gpu();
    throw base::CommError(fmt::format("{}: {}", backend(), explain(failure)));
  }

  Backends backends_;
  c10::intrusive_ptr<c10d::Store> store_;
  C10dGroupOptions options_;
  int num_splits_ = 0;
  bool is_shut_down_ = false;
  std::shared_ptr<FlightRecorder> recorder_;
  std::shared_ptr<Common> common_;
  std::shared_ptr<PeerWatch> watch_;
  std::atomic<bool> is_broken_ = false;
  std::atomic<std::uint64_t> newest_ = 0;  // of the collectives
  /// Made by split(): who asked for one may be gone long before the peers are done with it.
  std::vector<std::shared_ptr<C10dCommunicator>> parts_;
  std::jthread overdue_watch_;  // ends before what it uses
};

std::unique_ptr<Communicator> C10dCommunicator::split(int color) {
  const std::string own = std::to_string(color);
  const std::vector<std::string> colors = all_gather_text(own);
  C10dGroupOptions part = options_;
  part.members.clear();
  int part_rank = 0;
  for (int other = 0; other < world_size(); ++other) {
    if (colors[static_cast<std::size_t>(other)] != own) continue;
    if (other < rank()) ++part_rank;
    part.members.push_back(options_.members[static_cast<std::size_t>(other)]);
  }
  const std::string prefix = fmt::format("split {} color {}", num_splits_++, color);
  if (part.members.size() == 1) return LocalGroup(1).join(0);
  const auto store = c10::make_intrusive<c10d::PrefixStore>(prefix, store_);
  Backends backends = options_.make_backends(
      c10::make_intrusive<c10d::PrefixStore>("backend", store), part.members, part_rank);
  auto group = std::make_shared<C10dCommunicator>(std::move(backends), store, part, common_);
  group->set_timeout(part.timeout);
  parts_.push_back(group);
  return std::make_unique<SharedCommunicator>(std::move(group));
}

}  // namespace

std::unique_ptr<Communicator> make_c10d_communicator(Backends backends,
                                                     c10::intrusive_ptr<c10d::Store> store,
                                                     const C10dGroupOptions& options) {
  return std::make_unique<C10dCommunicator>(std::move(backends), std::move(store), options);
}

}  // namespace paceline::comm
