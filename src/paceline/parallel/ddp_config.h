#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/flat_layout.h"

#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace paceline::parallel {

/// What becomes of buffers (running statistics), which each rank updates by its own samples.
enum class BufferPolicy {
  kBroadcast,  ///< rank 0's are taken before they are read: at evaluations and checkpoints
  kKeep,       ///< each rank evaluates with its own; checkpoints hold rank 0's
};

/// Every rank holds the whole model; parameters, gradients and optimizer state lie in flat arenas.
struct DdpConfig {
  double first_bucket_mib = 1.0;
  double bucket_mib = 25.0;
  std::vector<std::string> bucket_order = {};
  bool allow_unused_parameters = false;
  BufferPolicy buffers = BufferPolicy::kBroadcast;
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
struct paceline::config::Schema<paceline::parallel::DdpConfig> {
  using Config = paceline::parallel::DdpConfig;
  static constexpr std::string_view name = "ddp";
  static constexpr std::string_view summary =
      "The whole model on every rank; gradients are summed while backward runs.";
  static constexpr std::string_view paper = "Li et al., VLDB 2020";
  static constexpr auto fields = std::tuple{
      field(&Config::first_bucket_mib, "first_bucket_mib",
            "Size of the first bucket of gradients, which is full first, in MiB.", MoreThan{0.0}),
      field(&Config::bucket_mib, "bucket_mib", "Size of the other buckets, in MiB.", MoreThan{0.0}),
      field(&Config::bucket_order, "bucket_order",
            "Names of parameters that are reduced first, in this order."),
      field(&Config::allow_unused_parameters, "allow_unused_parameters",
            "Take zeros for parameters that got no gradient, where it is an error otherwise."),
      field(&Config::buffers, "buffers",
            "Running statistics: broadcast rank 0's before evaluations and checkpoints, or let "
            "each rank keep its own.")};
};

template <>
struct paceline::config::Schema<paceline::parallel::NoneConfig> {
  using Config = paceline::parallel::NoneConfig;
  static constexpr std::string_view name = "none";
  static constexpr std::string_view summary = "One rank, nothing to synchronise.";
  static constexpr auto fields = std::tuple{
      field(&Config::allow_unused_parameters, "allow_unused_parameters",
            "Take zeros for parameters that got no gradient, where it is an error otherwise.")};
};
