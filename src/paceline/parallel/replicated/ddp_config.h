#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/flat_layout.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace paceline::parallel {

/// What becomes of buffers (running statistics), which each rank updates by its own samples.
enum class BufferPolicy {
  kBroadcast,  ///< rank 0's are taken before they are read: at evaluations and checkpoints
  kKeep,       ///< each rank evaluates with its own; checkpoints hold rank 0's
};

/// How gradients are made smaller before they are sent.
enum class Compression { kFloat16, kBFloat16, kPowerSgd };

/// Every rank holds the whole model; parameters, gradients and optimizer state lie in flat arenas.
struct DdpConfig {
  double first_bucket_mib = 1.0;
  double bucket_mib = 25.0;
  double last_bucket_mib = 1.0;
  std::vector<std::string> bucket_order = {};
  bool allow_unused_parameters = false;
  bool static_graph = false;
  BufferPolicy buffers = BufferPolicy::kBroadcast;
  std::optional<Compression> compression = {};
  int powersgd_rank = 1;
  std::int64_t powersgd_start = 1000;
};

/// On one rank: the same arenas, nothing to synchronise.
struct NoneConfig {
  bool allow_unused_parameters = false;
};

tensor::FlatLayoutOptions layout_options(const DdpConfig& config);

}  // namespace paceline::parallel

template <>
struct paceline::config::EnumNames<paceline::parallel::BufferPolicy> {
  static constexpr std::array names{
      EnumName{paceline::parallel::BufferPolicy::kBroadcast, "broadcast"},
      EnumName{paceline::parallel::BufferPolicy::kKeep, "keep"}};
};

template <>
struct paceline::config::EnumNames<paceline::parallel::Compression> {
  static constexpr std::array names{
      EnumName{paceline::parallel::Compression::kFloat16, "fp16"},
      EnumName{paceline::parallel::Compression::kBFloat16, "bf16"},
      EnumName{paceline::parallel::Compression::kPowerSgd, "powersgd"}};
};

template <>
struct paceline::config::Schema<paceline::parallel::DdpConfig> {
  using Config = paceline::parallel::DdpConfig;
  static constexpr std::string_view name = "ddp";
  static constexpr std::string_view summary =
      "The whole model on every rank; gradients are summed while backward runs.";
  static constexpr std::string_view paper = "Li et al., VLDB 2020";
  static constexpr auto fields = std::tuple{
      field(&Config::first_bucket_mib, "first_bucket_mib",
            "Size of the first bucket of gradients, which is full first, in MiB.", MoreThan{0.0},
            AtMost{1'048'576, "a TiB"}, MayChangeOnResume{}),
      field(&Config::bucket_mib, "bucket_mib", "Size of the other buckets, in MiB.", MoreThan{0.0},
            AtMost{1'048'576, "a TiB"}, MayChangeOnResume{}),
      field(&Config::last_bucket_mib, "last_bucket_mib",
            "Size of the last bucket, which backward cannot hide, in MiB; 0: as it comes.",
            AtLeast{0.0}, AtMost{1'048'576, "a TiB"}, MayChangeOnResume{}),
      field(&Config::bucket_order, "bucket_order",
            "Names of parameters that are reduced first, in this order.", MayChangeOnResume{}),
      field(
          &Config::allow_unused_parameters, "allow_unused_parameters",
          "A rank may have no gradient for a parameter, where it is an error otherwise; its share "
          "is then zeros, and a parameter that no rank has one for is not updated.",
          MayChangeOnResume{}),
      field(&Config::static_graph, "static_graph",
            "Every step uses the same parameters: those that got no gradient in the first step are "
            "not waited for, and a step that differs is an error.",
            MayChangeOnResume{}),
      field(&Config::buffers, "buffers",
            "Running statistics: broadcast rank 0's before evaluations and checkpoints, or let "
            "each rank keep its own."),
      field(&Config::compression, "compression",
            "Send gradients in fewer bytes: fp16 or bf16 (half of them), powersgd (each matrix as "
            "a product of two of low rank; what that leaves out is added to the next step's), or "
            "null.",
            MayChangeOnResume{}),
      field(&Config::powersgd_rank, "powersgd_rank", "Rank of powersgd's matrices.", AtLeast{1},
            AtMost{65536, "no matrix has a higher rank"}),
      field(&Config::powersgd_start, "powersgd_start",
            "Steps before powersgd begins, in which gradients are sent as they are.", AtLeast{0},
            AtMost{1'000'000'000'000, "no run has more steps"}, MayChangeOnResume{})};
};

template <>
struct paceline::config::Schema<paceline::parallel::NoneConfig> {
  using Config = paceline::parallel::NoneConfig;
  static constexpr std::string_view name = "none";
  static constexpr std::string_view summary = "One rank, nothing to synchronise.";
  static constexpr auto fields = std::tuple{
      field(&Config::allow_unused_parameters, "allow_unused_parameters",
            "Parameters without a gradient are not updated, where they are an error otherwise.",
            MayChangeOnResume{})};
};
