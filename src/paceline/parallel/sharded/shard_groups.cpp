#include "paceline/parallel/sharded/shard_groups.h"

#include "paceline/base/error.h"

#include <fmt/format.h>

namespace paceline::parallel {

ShardGroups::ShardGroups(comm::Communicator& world, int size) : world_(world) {
  const int world_size = world.world_size();
  const int group_size = size == 0 ? world_size : size;
  if (group_size < 1 || world_size % group_size != 0) {
    throw base::ConfigError(
        fmt::format("parallel.fsdp.shard_group_size is {}, which does not divide the {} ranks of "
                    "this run",
                    group_size, world_size));
  }
  if (group_size == world_size) return;
  shards_ = world.split(world.rank() / group_size);
  replicas_ = world.split(world.rank() % group_size);
}

}  // namespace paceline::parallel
