// What the strategies hold on each rank, beside what LibTorch's allocator gave out for it.

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/memory_estimate.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/config/load.h"
#include "paceline/nn/init.h"
#include "paceline/tensor/memory_count.h"
#include "support/run_ranks.h"
#include "support/temp_folder.h"

#include <atomic>

#include <gtest/gtest.h>

namespace paceline::app {
namespace {

constexpr int kTwoRanks = 2;

constexpr const char* kVitTiny = R"(
model:     {name: vit_tiny_patch16_224, num_classes: 10}
data:      {name: synthetic, num_samples: 8, num_val_samples: 2, num_classes: 10, size: 224}
optimizer: {name: adamw, lr: 0.01}
)";

std::uint64_t optimizer_bytes(optim::Optimizer& optimizer) {
  std::uint64_t bytes = 0;
  for (const optim::SlotState& kind : optimizer.state()) {
    for (const at::Tensor& tensor : kind.tensors) bytes += tensor.nbytes();
  }
  return bytes;
}

class StrategyMemoryTest : public ::testing::TestWithParam<std::string> {
 protected:
  test::TempFolder folder_;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_P(StrategyMemoryTest, StateIsItsShareAndTheAllocatorAgrees) {
  const std::vector<std::string> overrides{"parallel.strategy=" + GetParam()};
  const Recipe recipe = config::load<Recipe>(folder_.write("recipe.yaml", kVitTiny), overrides,
                                             {registries_->catalogs(), kTwoRanks})
                            .value;
  tensor::count_tensor_memory();
  const std::int64_t before = tensor::tensor_memory().current;
  std::atomic<std::uint64_t> told = 0;
  test::run_ranks(kTwoRanks, [&](comm::Communicator& communicator) {
    const auto task = make_task(recipe, *registries_);
    std::uint64_t elements = 0;
    for (const auto& named : nn::named_parameters(task->network()))
      elements += static_cast<std::uint64_t>(named.tensor.numel());
    const auto plan = registries_->optimizers.build(recipe.optimizer);
    const auto strategy = make_strategy(recipe, communicator, kTwoRanks);
    strategy->prepare(task->network(), plan->rules, [](const nn::NamedTensor& parameter) {
      nn::constant(parameter.tensor, 0.0);
    });
    const auto optimizer = plan->make(strategy->param_groups(), strategy->parameter_shards());

    const parallel::StrategyMemory memory = strategy->memory(1);
    const std::uint64_t state = memory.parameters + memory.gradients + optimizer_bytes(*optimizer);
    if (GetParam() == "fsdp") {
      const auto share = 4.0 * static_cast<double>(elements) * sizeof(float) / kTwoRanks;
      EXPECT_GE(static_cast<double>(state), share);
      EXPECT_LE(static_cast<double>(state), 1.005 * share);
    }
    told += state;
    communicator.barrier();
    if (communicator.rank() == 0) {
      const auto held = static_cast<double>(tensor::tensor_memory().current - before);
      EXPECT_NEAR(held, static_cast<double>(told), 0.005 * held) << "the allocator rounds";
    }
    communicator.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(Strategies, StrategyMemoryTest,
                         ::testing::Values("ddp", "zero1", "zero2", "fsdp", "hsdp"),
                         [](const auto& strategy) { return strategy.param; });

}  // namespace
}  // namespace paceline::app
