// Gradients over Gloo, bit for bit those of c10d::Reducer on the same buckets. Gloo's order of
// summation depends on the place in the buffer, so the layout has no padding.

#include "paceline/comm/c10d/c10d_communicator.h"
#include "paceline/comm/gloo/gloo_backend.h"
#include "paceline/optim/param_groups.h"
#include "paceline/parallel/replicated/distributed_data_parallel.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/small_net.h"

#include <exception>
#include <thread>

#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

namespace paceline::parallel {
namespace {

using paceline::test::wave;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

constexpr std::chrono::seconds kTimeout{60};
constexpr const char* kAddress = "127.0.0.1";

StorePtr prefixed(const StorePtr& store, const std::string& prefix) {
  return c10::make_intrusive<c10d::PrefixStore>(prefix, store);
}

/// Every parameter fills whole cache lines, so that the layout has no padding.
class EvenNet : public torch::nn::Module {
 public:
  EvenNet() {
    const at::Tensor kernel = wave({16, 3, 3, 3}, 1, at::kFloat);
    conv_weight =
        register_parameter("conv_weight", kernel.contiguous(at::MemoryFormat::ChannelsLast));
    conv_bias = register_parameter("conv_bias", wave({16}, 2, at::kFloat));
    head_weight = register_parameter("head_weight", wave({32, 64}, 3, at::kFloat));
    head_bias = register_parameter("head_bias", wave({32}, 4, at::kFloat));
  }

  /// Of the four samples of this rank.
  at::Tensor loss(int rank) const {
    const at::Tensor images = wave({4, 3, 8, 8}, 10 + rank, at::kFloat);
    const at::Tensor features = at::relu(at::conv2d(images, conv_weight, conv_bias, 2));
    const at::Tensor pooled = at::adaptive_avg_pool2d(features, {2, 2}).flatten(1);
    return at::linear(pooled, head_weight, head_bias).square().sum();
  }

  at::Tensor conv_weight, conv_bias, head_weight, head_bias;
};

const DdpConfig kBuckets{.first_bucket_mib = 0.0001, .bucket_mib = 0.002};

std::unique_ptr<comm::Communicator> connect(const StorePtr& store, int rank, int world_size) {
  return comm::make_c10d_communicator(
      {comm::make_gloo_backend(store, rank, world_size, kAddress, kTimeout)}, store, {});
}

tensor::FlatLayout layout_of(const EvenNet& net) {
  std::vector<tensor::TensorSpec> specs;
  for (const NamedTensor& named : trainable_parameters(net)) {
    specs.push_back(tensor::describe(named.name, named.tensor, 0));
  }
  return tensor::FlatLayout::build(specs, layout_options(kBuckets));
}

/// Gradients by parameter in layout order.
using Gradients = std::vector<at::Tensor>;

Gradients module_gradients(const StorePtr& store, int rank, int world_size, Reduction reduction) {
  const auto communicator = connect(store, rank, world_size);
  EvenNet net;
  DistributedDataParallel ddp(net, *communicator, {reduction, kBuckets});
  net.loss(rank).backward();
  ddp.finish_gradients();
  communicator->shutdown();
  Gradients gradients;
  for (const tensor::FlatSlot& slot : layout_of(net).slots) {
    gradients.push_back(net.named_parameters()[slot.spec.name].grad().clone());
  }
  return gradients;
}

Gradients strategy_gradients(const StorePtr& store, int rank, int world_size) {
  const auto communicator = connect(store, rank, world_size);
  EvenNet net;
  const auto strategy = make_ddp(kBuckets, *communicator);
  strategy->prepare(net, optim::weight_decay_rules(0, /*decay_norm_and_bias=*/true, {}));
  strategy->begin_microbatch(true, true);
  strategy->backward(net.loss(rank), 1.0);
  strategy->finish_gradients();
  communicator->shutdown();
  const auto slots = strategy->param_groups()[1].slots;  // the rule "decay" takes all
  Gradients gradients;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const tensor::FlatRange& range = strategy->layout().ranges[i];
    for (std::int64_t slot = range.first_slot; slot < range.end_slot; ++slot) {
      const tensor::FlatSlot& place = strategy->layout().slots[static_cast<std::size_t>(slot)];
      gradients.push_back(
          slots[i].grad.as_strided(place.spec.sizes, place.spec.strides, place.offset).clone());
    }
  }
  return gradients;
}

std::vector<std::vector<std::size_t>> bucket_indices(const tensor::FlatLayout& layout) {
  std::vector<std::vector<std::size_t>> buckets(layout.buckets.size());
  for (std::size_t slot = 0; slot < layout.slots.size(); ++slot) {
    buckets[static_cast<std::size_t>(layout.slots[slot].bucket)].push_back(slot);
  }
  return buckets;
}

Gradients reducer_gradients(const StorePtr& store, int rank, int world_size) {
  const auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, world_size);
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO,
                    comm::make_gloo_backend(store, rank, world_size, kAddress, kTimeout));
  EvenNet net;
  const tensor::FlatLayout layout = layout_of(net);
  Gradients parameters;
  for (const tensor::FlatSlot& slot : layout.slots) {
    parameters.push_back(net.named_parameters()[slot.spec.name]);
  }
  c10d::Reducer reducer(parameters, bucket_indices(layout), group,
                        std::vector<bool>(parameters.size(), false), 1 << 20,
                        /*find_unused_parameters=*/false, /*gradient_as_bucket_view=*/false, {},
                        1 << 20, /*skip_all_reduce_unused_params=*/false,
                        /*use_python_reducer=*/false, {});
  reducer.prepare_for_forward();
  const at::Tensor loss = net.loss(rank);
  reducer.prepare_for_backward({});
  loss.backward();
  Gradients gradients;
  for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad().clone());
  return gradients;
}

void expect_same_bits(const Gradients& actual, const Gradients& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(at::equal(actual[i], expected[i])) << what << ", slot " << i;
    EXPECT_GT(actual[i].abs().max().item<double>(), 0.0);
  }
}

void compare_on_rank(const StorePtr& store, int rank, int world_size) {
  at::set_num_threads(1);
  const auto with_store = [&](const std::string& prefix) { return prefixed(store, prefix); };
  const auto mean = module_gradients(with_store("mean"), rank, world_size, Reduction::kMean);
  const auto oracle = reducer_gradients(with_store("oracle"), rank, world_size);
  expect_same_bits(mean, oracle, "mean of " + std::to_string(world_size));
  const auto sum = module_gradients(with_store("sum"), rank, world_size, Reduction::kSum);
  const auto strategy = strategy_gradients(with_store("strategy"), rank, world_size);
  expect_same_bits(strategy, sum, "sum of " + std::to_string(world_size));
  if (world_size == 3) return;  // dividing by 2 and 4 is exact, so the sums follow the Reducer too
  Gradients scaled;
  for (const at::Tensor& gradient : strategy) scaled.push_back(gradient / world_size);
  expect_same_bits(scaled, oracle, "scaled sum of " + std::to_string(world_size));
}

TEST(ReducerOracle, TheLayoutHasNoPadding) {
  const tensor::FlatLayout layout = layout_of(EvenNet());
  ASSERT_EQ(layout.buckets.size(), 3U);
  std::int64_t numel = 0;
  for (const tensor::FlatSlot& slot : layout.slots) numel += slot.numel;
  EXPECT_EQ(layout.buckets.back().end, numel);
}

TEST(ReducerOracle, SameBitsAtTwoThreeAndFourRanks) {
  for (const int world_size : {2, 3, 4}) {
    const StorePtr store = c10::make_intrusive<c10d::HashStore>();
    std::vector<std::thread> ranks;
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(world_size));
    for (int rank = 0; rank < world_size; ++rank) {
      ranks.emplace_back([&, rank] {
        try {
          compare_on_rank(store, rank, world_size);
        } catch (...) {
          failures[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
    for (std::thread& thread : ranks) thread.join();
    for (const std::exception_ptr& failure : failures) {
      if (failure != nullptr) std::rethrow_exception(failure);
    }
  }
}

}  // namespace
}  // namespace paceline::parallel
