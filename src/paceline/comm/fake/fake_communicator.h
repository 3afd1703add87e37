#pragma once

#include "paceline/comm/communicator.h"

#include <memory>

namespace paceline::comm {

/// One rank of a world of any size without any peers, for dry runs: shapes and arithmetic of a
/// large run on one machine. It behaves as if the peers held what this rank holds, except that sums
/// are left undone: all_reduce and broadcast change nothing, all_gather repeats the input,
/// reduce_scatter keeps this rank's slice.
std::unique_ptr<Communicator> make_fake_communicator(int rank, int world_size);

}  // namespace paceline::comm
