#include "paceline/parallel/sharded/sharded_frozen_module.h"

#include "paceline/parallel/sharded/sharded_memory.h"

#include <utility>

namespace paceline::parallel {
namespace {

ShardedConfig without_units(ShardedConfig config) {
  config.units.clear();
  return config;
}

}  // namespace

ShardedFrozenModule::ShardedFrozenModule(const torch::nn::Module& module, const FillValues& fill,
                                         const ShardedConfig& config, const ShardGroups& groups,
                                         double& exposed_s)
    : buffers_(module_buffers(module)),
      layout_(module, /*rules=*/{}, fill, without_units(config), /*keeps_full=*/false, groups),
      schedule_(layout_, {.prefetch = static_cast<std::size_t>(config.prefetch)},
                /*replicas=*/nullptr),
      exposed_s_(exposed_s) {}

void ShardedFrozenModule::begin_forward() { exposed_s_ += schedule_.gather_root(); }

void ShardedFrozenModule::end_forward() {
  schedule_.release_all();
  exposed_s_ += schedule_.exposed_s() - std::exchange(counted_s_, schedule_.exposed_s());
}

void ShardedFrozenModule::forward_nothing() {
  begin_forward();
  schedule_.forward_nothing();
  end_forward();
}

std::uint64_t ShardedFrozenModule::bytes() const {
  const StrategyMemory memory =
      sharded_memory(layout_, schedule_.options(), /*num_microbatches=*/1);
  return memory.parameters + memory.transient + bytes_of(buffers_);
}

}  // namespace paceline::parallel
