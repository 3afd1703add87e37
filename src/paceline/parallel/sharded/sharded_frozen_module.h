#pragma once

#include "paceline/parallel/frozen_module.h"
#include "paceline/parallel/sharded/sharded_layout.h"
#include "paceline/parallel/sharded/sharded_schedule.h"

#include <vector>

namespace paceline::parallel {

/// In pieces over the ranks of a shard group; each unit is gathered for its part of the forward
/// pass and freed after it. Buffers stay whole.
class ShardedFrozenModule final : public FrozenModule {
 public:
  /// Parameters as ShardedLayout takes them over, cut by the sizes, dtype and prefetch of `config`;
  /// its `units` name those of another module. The seconds that passes wait for gathers are added
  /// to `exposed_s`, which must outlive this as `groups` must.
  ShardedFrozenModule(const torch::nn::Module& module, const FillValues& fill,
                      const ShardedConfig& config, const ShardGroups& groups, double& exposed_s);

  void begin_forward() override;
  void end_forward() override;
  void forward_nothing() override;
  std::uint64_t bytes() const override;

 private:
  std::vector<NamedTensor> buffers_;
  ShardedLayout layout_;
  ShardedSchedule schedule_;
  double& exposed_s_;
  double counted_s_ = 0;  // of the schedule's
};

}  // namespace paceline::parallel
