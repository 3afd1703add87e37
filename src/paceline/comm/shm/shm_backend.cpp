#include "paceline/comm/shm/shm_backend.h"

#include "paceline/base/bounded_queue.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/comm/shm/shared_memory.h"
#include "paceline/comm/shm/shm_collectives.h"
#include "paceline/tensor/aten.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace paceline::comm {
namespace {

std::optional<ShmCollectives::Element> element_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return ShmCollectives::Element::kFloat32;
    case at::kDouble:
      return ShmCollectives::Element::kFloat64;
    case at::kLong:
      return ShmCollectives::Element::kInt64;
    default:
      return std::nullopt;
  }
}

std::optional<ReduceOp> op_of(const c10d::ReduceOp& op) {
  if (op == c10d::ReduceOp::SUM) return ReduceOp::kSum;
  if (op == c10d::ReduceOp::MIN) return ReduceOp::kMin;
  if (op == c10d::ReduceOp::MAX) return ReduceOp::kMax;
  return std::nullopt;
}

/// One collective: what the caller waits for, and what the group's thread has to do.
class ShmWork final : public c10d::Work {
 public:
  using Job = std::function<void(ShmCollectives& group)>;

  ShmWork(int rank, c10d::OpType type, Job job) : Work(rank, type), job_(std::move(job)) {}

  void run(ShmCollectives& group) {
    try {
      job_(group);
      finish();
    } catch (...) {
      finish(std::current_exception());
    }
  }
  void give_up() {
    finish(std::make_exception_ptr(base::CommError("the communicator is being closed")));
  }

 private:
  Job job_;
};

class ShmBackend final : public c10d::Backend {
 public:
  ShmBackend(c10::intrusive_ptr<c10d::Backend> gloo, SharedMemory memory)
      : Backend(gloo->getRank(), gloo->getSize()),
        gloo_(std::move(gloo)),
        group_(std::move(memory), getRank(), getSize()),
        thread_([this] { work(); }) {}

  ~ShmBackend() override {
    group_.stop();
    queue_.close();
    thread_.join();
  }

  const std::string getBackendName() const override { return "shared memory and gloo"; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    const at::Tensor& tensor = tensors.at(0);
    const auto element = element_of(tensor.scalar_type());
    const auto op = op_of(options.reduceOp);
    if (!element || !op) return gloo_->allreduce(tensors, options);
    return start(c10d::OpType::ALLREDUCE, [=, timeout = options.timeout](ShmCollectives& group) {
      group.all_reduce(tensor.data_ptr(), tensor.numel(), *element, *op, timeout);
    });
  }

  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(
      at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) override {
    return start(c10d::OpType::_REDUCE_SCATTER_BASE,
                 [=, timeout = options.timeout](ShmCollectives& group) {
                   group.reduce_scatter(output.data_ptr(), input.const_data_ptr(), output.numel(),
                                        element_of(input.scalar_type()).value(), timeout);
                 });
  }

  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override {
    return start(c10d::OpType::_ALLGATHER_BASE,
                 [=, timeout = options.timeout](ShmCollectives& group) {
                   group.all_gather(output.data_ptr(), input.const_data_ptr(),
                                    static_cast<std::int64_t>(input.nbytes()), timeout);
                 });
  }

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return gloo_->broadcast(tensors, options);
  }
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor& output, at::Tensor& input,
                                               std::vector<int64_t>& output_splits,
                                               std::vector<int64_t>& input_splits,
                                               const c10d::AllToAllOptions& options) override {
    return gloo_->alltoall_base(output, input, output_splits, input_splits, options);
  }
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override {
    return gloo_->barrier(options);
  }
  void setTimeout(std::chrono::milliseconds timeout) override { gloo_->setTimeout(timeout); }
  void shutdown() override { gloo_->shutdown(); }

 private:
  static constexpr std::size_t kQueueCapacity = 1024;  // more than a step has buckets

  c10::intrusive_ptr<c10d::Work> start(c10d::OpType type, ShmWork::Job job) {
    auto work = c10::make_intrusive<ShmWork>(getRank(), type, std::move(job));
    if (!queue_.push(work)) throw base::CommError("the communicator is closed");
    return work;
  }

  void work() {
    bool has_failed = false;
    while (auto job = queue_.pop()) {
      if (has_failed) {
        (*job)->give_up();
      } else {
        (*job)->run(group_);
        has_failed = !(*job)->isSuccess();  // the ranks are out of step for good
      }
    }
  }

  c10::intrusive_ptr<c10d::Backend> gloo_;
  ShmCollectives group_;
  base::BoundedQueue<c10::intrusive_ptr<ShmWork>> queue_{kQueueCapacity};
  std::thread thread_;
};

constexpr std::int64_t kNameLength = 128;

/// Rank 0's text, on every rank.
std::string broadcast_name(c10d::Backend& group, const std::string& name) {
  const at::Tensor bytes = at::zeros({kNameLength}, at::kByte);
  char* text = static_cast<char*>(bytes.data_ptr());
  name.copy(text, kNameLength - 1);
  std::vector<at::Tensor> tensors{bytes};
  group.broadcast(tensors, c10d::BroadcastOptions())->wait();
  return text;
}

bool all_of(c10d::Backend& group, bool value) {
  std::vector<at::Tensor> tensors{at::full({1}, value ? 1 : 0, at::kLong)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MIN;
  group.allreduce(tensors, options)->wait();
  return tensors[0].item<std::int64_t>() != 0;
}

/// Rank 0 makes the memory and tells its name.
std::optional<SharedMemory> map_memory(c10d::Backend& group) {
  const std::size_t bytes = ShmCollectives::bytes_needed(group.getSize());
  const bool is_first = group.getRank() == 0;
  std::optional<SharedMemory> memory;
  const auto attempt = [&](const auto& make) {
    try {
      memory.emplace(make());
      memory->mark_present(group.getRank());
    } catch (const base::CommError& error) {
      base::log_warning("{}; collectives go over the network", error.what());
      memory.reset();
    }
  };
  if (is_first) attempt([&] { return SharedMemory::create(bytes); });
  const std::string name = broadcast_name(group, memory ? memory->name() : "");
  if (!is_first && !name.empty()) attempt([&] { return SharedMemory::open(name, bytes); });
  return memory;
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> with_shared_memory(c10::intrusive_ptr<c10d::Backend> gloo) {
  std::optional<SharedMemory> memory = map_memory(*gloo);
  const bool have_all = all_of(*gloo, memory.has_value());
  if (!have_all) return gloo;
  return c10::make_intrusive<ShmBackend>(std::move(gloo), *std::move(memory));
}

bool adds_slices_in_shared_memory(const c10d::Backend& backend, at::ScalarType dtype) {
  return dynamic_cast<const ShmBackend*>(&backend) != nullptr && element_of(dtype).has_value();
}

}  // namespace paceline::comm
