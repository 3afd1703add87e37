#include "paceline/comm/nodes/node_backend.h"

#include "paceline/base/bounded_queue.h"
#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/tensor/aten.h"

#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace paceline::comm {
namespace {

using std::chrono::milliseconds;

/// The dtype in which a reduction of `dtype` is computed.
at::ScalarType reduced_dtype(at::ScalarType dtype) {
  if (at::isReducedFloatingType(dtype)) return at::kFloat;
  return c10::isIntegralType(dtype, /*includeBool=*/true) ? at::kLong : dtype;
}

Element element_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return Element::kFloat32;
    case at::kDouble:
      return Element::kFloat64;
    case at::kLong:
      return Element::kInt64;
    default:
      throw base::InternalError(fmt::format("a reduction of {}", c10::toString(dtype)));
  }
}

ReduceOp op_of(const c10d::ReduceOp& op) {
  if (op == c10d::ReduceOp::SUM) return ReduceOp::kSum;
  if (op == c10d::ReduceOp::MIN) return ReduceOp::kMin;
  if (op == c10d::ReduceOp::MAX) return ReduceOp::kMax;
  throw base::InternalError("an unknown reduction");
}

/// One collective: what the caller waits for, and what the group's thread has to do.
class NodeWork final : public c10d::Work {
 public:
  using Job = std::function<void(NodeCollectives& group)>;

  NodeWork(int rank, c10d::OpType type, Job job) : Work(rank, type), job_(std::move(job)) {}

  void run(NodeCollectives& group) {
    try {
      const at::NoGradGuard no_grad;
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

class NodeBackend final : public c10d::Backend {
 public:
  NodeBackend(std::string name, std::unique_ptr<NodeCollectives> group)
      : Backend(group->map().rank, group->map().world_size()),
        name_(std::move(name)),
        group_(std::move(group)),
        thread_([this] { work(); }) {}

  ~NodeBackend() override {
    group_->stop();
    queue_.close();
    thread_.join();
  }

  const std::string getBackendName() const override { return name_; }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    const at::Tensor& tensor = tensors.at(0);
    const at::ScalarType dtype = reduced_dtype(tensor.scalar_type());
    return start(c10d::OpType::ALLREDUCE,
                 [=, element = element_of(dtype), op = op_of(options.reduceOp),
                  timeout = options.timeout](NodeCollectives& group) {
                   const at::Tensor reduced = tensor.to(dtype);
                   group.all_reduce(reduced.data_ptr(), reduced.numel(), element, op, timeout);
                   if (!reduced.is_same(tensor)) tensor.copy_(reduced);
                 });
  }

  c10::intrusive_ptr<c10d::Work> _reduce_scatter_base(
      at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& options) override {
    const at::ScalarType dtype = reduced_dtype(input.scalar_type());
    return start(c10d::OpType::_REDUCE_SCATTER_BASE, [=, element = element_of(dtype),
                                                      timeout =
                                                          options.timeout](NodeCollectives& group) {
      const at::Tensor slices = input.to(dtype);
      const at::Tensor sum = output.scalar_type() == dtype ? output : at::empty_like(output, dtype);
      group.reduce_scatter(sum.data_ptr(), slices.const_data_ptr(), sum.numel(), element, timeout);
      if (!sum.is_same(output)) output.copy_(sum);
    });
  }

  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor& output, at::Tensor& input,
                                                 const c10d::AllgatherOptions& options) override {
    return start(c10d::OpType::_ALLGATHER_BASE,
                 [=, timeout = options.timeout](NodeCollectives& group) {
                   group.all_gather(output.data_ptr(), input.const_data_ptr(),
                                    static_cast<std::int64_t>(input.nbytes()), timeout);
                 });
  }

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return start(c10d::OpType::BROADCAST, [tensor = tensors.at(0),
                                           root = static_cast<int>(options.rootRank),
                                           timeout = options.timeout](NodeCollectives& group) {
      group.broadcast(tensor.data_ptr(), static_cast<std::int64_t>(tensor.nbytes()), root, timeout);
    });
  }

  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& options) override {
    return start(c10d::OpType::BARRIER, [timeout = options.timeout](NodeCollectives& group) {
      std::int64_t nothing = 0;
      group.all_reduce(&nothing, 1, Element::kInt64, ReduceOp::kSum, timeout);
    });
  }

  void setTimeout(milliseconds /*timeout*/) override {}  // each call brings its own

 private:
  static constexpr std::size_t kQueueCapacity = 1024;  // more than a step has buckets

  c10::intrusive_ptr<c10d::Work> start(c10d::OpType type, NodeWork::Job job) {
    auto work = c10::make_intrusive<NodeWork>(getRank(), type, std::move(job));
    if (!queue_.push(work)) throw base::CommError("the communicator is closed");
    return work;
  }

  void work() {
    bool has_failed = false;
    while (auto job = queue_.pop()) {
      if (has_failed) {
        (*job)->give_up();
      } else {
        (*job)->run(*group_);
        has_failed = !(*job)->isSuccess();  // the ranks are out of step for good
      }
    }
  }

  std::string name_;
  std::unique_ptr<NodeCollectives> group_;
  base::BoundedQueue<c10::intrusive_ptr<NodeWork>> queue_{kQueueCapacity};
  std::thread thread_;
};

std::string wait_for(c10d::Store& store, const std::string& key, milliseconds timeout) {
  store.wait({key}, timeout);
  return store.get_to_str(key);
}

/// The memory that this rank shares with its node, which the node's first rank makes and names.
/// Null where there is nobody to share with, or none to be had.
std::unique_ptr<ShmCollectives> share_memory(c10d::Store& store, const NodeMap& map,
                                             milliseconds timeout) {
  const int size = map.size(map.node);
  if (size == 1) return nullptr;
  const std::string key = fmt::format("memory of node {}", map.node);
  const std::size_t bytes = ShmCollectives::bytes_needed(size);
  std::string name = "none";
  std::unique_ptr<ShmCollectives> group;
  const auto use = [&](SharedMemory memory) {
    memory.mark_present(map.place());
    name = memory.name();
    group = std::make_unique<ShmCollectives>(std::move(memory), map.place(), size,
                                             map.first_rank(map.node));
  };
  try {
    if (map.is_first()) {
      use(SharedMemory::create(bytes));
    } else if (const std::string made = wait_for(store, key, timeout); made != name) {
      use(SharedMemory::open(made, bytes));
    }
  } catch (const base::CommError& error) {
    base::log_warning("{}; collectives go over the network", error.what());
  }
  if (map.is_first()) store.set(key, name);
  return group;
}

/// Whether `own` is true on every rank. Three calls of the store for each, whatever their number.
bool all_of(c10d::Store& store, int world_size, bool own, milliseconds timeout) {
  if (!own) store.add("without memory", 1);
  if (store.add("ready", 1) == world_size) {
    const bool have_all = store.add("without memory", 0) == 0;
    store.set("verdict", std::string(have_all ? "all have memory" : "some do not"));
  }
  return wait_for(store, "verdict", timeout) == "all have memory";
}

NodeMap each_alone(int rank, int world_size) {
  std::vector<int> ranks(static_cast<std::size_t>(world_size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return map_nodes(ranks, rank, 1);
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_node_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                    const NodeMap& map,
                                                    const NetworkFactory& connect,
                                                    milliseconds timeout) {
  NodeMap nodes = map;
  std::unique_ptr<ShmCollectives> memory;
  if (nodes.num_nodes() < nodes.world_size()) {
    memory = share_memory(*store, nodes, timeout);
    const bool has_its_share = memory != nullptr || nodes.size(nodes.node) == 1;
    if (!all_of(*store, nodes.world_size(), has_its_share, timeout)) {
      memory.reset();
      nodes = each_alone(nodes.rank, nodes.world_size());
    }
  }
  const bool has_network = nodes.num_nodes() > 1;
  const bool has_memory = nodes.num_nodes() < nodes.world_size();
  std::unique_ptr<NodeLinks> links;
  if (has_network && nodes.is_first()) {
    links = std::make_unique<NodeLinks>(connect(
        c10::make_intrusive<c10d::PrefixStore>("nodes", store), nodes.node, nodes.num_nodes()));
  }
  const char* name = !has_memory   ? "gloo"
                     : has_network ? "shared memory and gloo"
                                   : "shared memory";
  return c10::make_intrusive<NodeBackend>(
      name,
      std::make_unique<NodeCollectives>(std::move(nodes), std::move(memory), std::move(links)));
}

bool knows_nodes(const c10d::Backend& backend) {
  return dynamic_cast<const NodeBackend*>(&backend) != nullptr;
}

}  // namespace paceline::comm
