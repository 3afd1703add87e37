#pragma once

#include "paceline/config/schema.h"
#include "paceline/parallel/replicated/ddp_config.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace paceline::parallel {

/// Types in which weights are gathered or gradients are summed.
enum class ShardDtype { kFloat32, kBFloat16, kFloat16 };

/// Parameters, gradients and optimizer state in pieces, one for each rank. ZeRO-1 and ZeRO-2, which
/// keep the parameters whole, have no use for reshard_after_forward.
struct ShardedConfig {
  std::int64_t min_unit_params = 0;
  std::vector<std::string> units = {};
  bool reshard_after_forward = true;
  int prefetch = 1;
  bool reduce_every_microbatch = true;
  std::optional<ShardDtype> param_dtype = {};
  std::optional<ShardDtype> reduce_dtype = {};
  bool allow_unused_parameters = false;
  BufferPolicy buffers = BufferPolicy::kBroadcast;
  std::optional<int> shard_group_size = {};
};

}  // namespace paceline::parallel

template <>
struct paceline::config::EnumNames<paceline::parallel::ShardDtype> {
  static constexpr std::array names{EnumName{paceline::parallel::ShardDtype::kFloat32, "fp32"},
                                    EnumName{paceline::parallel::ShardDtype::kBFloat16, "bf16"},
                                    EnumName{paceline::parallel::ShardDtype::kFloat16, "fp16"}};
};

template <>
struct paceline::config::Schema<paceline::parallel::ShardedConfig> {
  using Config = paceline::parallel::ShardedConfig;
  static constexpr std::string_view name = "fsdp";
  static constexpr std::string_view summary =
      "State in pieces over the ranks: fsdp, hsdp, zero1 and zero2.";
  static constexpr std::string_view paper = "Rajbhandari et al., SC 2020; Zhao et al., VLDB 2023";
  static constexpr auto fields = std::tuple{
      field(&Config::min_unit_params, "min_unit_params",
            "Neighbouring blocks are gathered together until they hold so many parameters.",
            AtLeast{0}, AtMost{1'000'000'000'000'000, "no model is larger"}, MayChangeOnResume{}),
      field(&Config::units, "units",
            "Names of the blocks that are gathered one by one; the others with what lies in no "
            "block. Empty: all blocks.",
            MayChangeOnResume{}),
      field(
          &Config::reshard_after_forward, "reshard_after_forward",
          "fsdp, hsdp: free gathered parameters after forward and gather them again for backward; "
          "less memory, more communication.",
          MayChangeOnResume{}),
      field(&Config::prefetch, "prefetch", "Units that are gathered ahead of the one at work.",
            AtLeast{0}, AtMost{10000, "no model has more units"}, MayChangeOnResume{}),
      field(
          &Config::reduce_every_microbatch, "reduce_every_microbatch",
          "Reduce the gradients of each microbatch into the shards; otherwise whole gradients add "
          "up and are reduced once a step: less communication, more memory. zero1 never does.",
          MayChangeOnResume{}),
      field(&Config::param_dtype, "param_dtype",
            "Type in which matrices and kernels are gathered and computed with; null: that of "
            "train.precision for fsdp and hsdp, else their own. Norms, biases and all shards keep "
            "theirs.",
            MayChangeOnResume{}),
      field(&Config::reduce_dtype, "reduce_dtype",
            "Type in which gradients are summed over the ranks; null: that of the parameters' "
            "shards.",
            MayChangeOnResume{}),
      field(&Config::allow_unused_parameters, "allow_unused_parameters",
            "Take zeros for parameters that got no gradient, where it is an error otherwise.",
            MayChangeOnResume{}),
      field(&Config::buffers, "buffers",
            "Running statistics: broadcast rank 0's before evaluations and checkpoints, or let "
            "each rank keep its own."),
      field(&Config::shard_group_size, "shard_group_size",
            "hsdp: neighbouring ranks that share one copy of the state; null: those of a node.",
            AtLeast{1}, AtMost{1'000'000, "no run has more ranks"}, MayChangeOnResume{})};
};
