#pragma once

#include "paceline/parallel/replicated/replicated_strategy.h"
#include "paceline/parallel/sharded/sharded_strategy.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace paceline::test {

using MakeStrategy =
    std::function<std::unique_ptr<parallel::Strategy>(comm::Communicator& communicator)>;

/// Every way to shard a BlockNet.
inline const std::map<std::string, MakeStrategy>& sharded_strategies() {
  using comm::Communicator;
  using namespace parallel;
  static const std::map<std::string, MakeStrategy> strategies{
      {"zero1", [](Communicator& c) { return make_zero1({}, c); }},
      {"zero2", [](Communicator& c) { return make_zero2({}, c); }},
      {"fsdp", [](Communicator& c) { return make_fsdp({}, c); }},
      {"fsdp that keeps until backward ends",
       [](Communicator& c) { return make_fsdp({.reshard_after_forward = false}, c); }},
      {"fsdp that reduces once, without prefetch",
       [](Communicator& c) {
         return make_fsdp({.prefetch = 0, .reduce_every_microbatch = false}, c);
       }},
      {"fsdp of two blocks at a time, far ahead",
       [](Communicator& c) { return make_fsdp({.min_unit_params = 200, .prefetch = 3}, c); }},
      // Shares a weight with block3, which then is part of what is gathered with the rest.
      {"fsdp of one named block",
       [](Communicator& c) { return make_fsdp({.units = {"block1"}}, c); }},
      {"hsdp",
       [](Communicator& c) { return make_hsdp({}, c.world_size() == 4 ? 2 : c.world_size(), c); }},
      {"hsdp of one rank each", [](Communicator& c) { return make_hsdp({}, 1, c); }},
  };
  return strategies;
}

/// DDP and the plain ways to shard.
inline std::map<std::string, MakeStrategy> main_strategies() {
  std::map<std::string, MakeStrategy> strategies;
  for (const auto* name : {"zero1", "zero2", "fsdp", "hsdp"})
    strategies[name] = sharded_strategies().at(name);
  strategies["ddp"] = [](comm::Communicator& c) { return parallel::make_ddp({}, c); };
  return strategies;
}

}  // namespace paceline::test
