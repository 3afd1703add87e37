#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/parallel/named_tensors.h"
#include "paceline/tensor/flat_layout.h"

#include <span>

namespace paceline::parallel {

/// Throws ConfigError, on every rank, that names the first rank whose parameters differ from rank
/// 0's in name, dtype, sizes, strides or group, and the parameter. Collective.
void check_ranks_agree(std::span<const tensor::TensorSpec> specs, comm::Communicator& communicator);

/// Makes the tensors of all ranks equal to rank 0's, with one broadcast per dtype. Collective.
void broadcast_from_first_rank(std::span<const NamedTensor> tensors,
                               comm::Communicator& communicator);

}  // namespace paceline::parallel
