#pragma once

#include "paceline/comm/communicator.h"
#include "paceline/tensor/fwd.h"

namespace paceline::parallel {

/// Makes every nn::BatchNorm2d below `module` normalise training batches, and move its running
/// statistics, by the values of all ranks of `communicator` together: the same numbers as on one
/// rank that holds all their samples, whatever each rank's share, also none. Returns how many norms
/// there are. With one rank nothing changes. The communicator must outlive the module's last
/// training forward and backward.
///
/// The communicator must not be the one that sums gradients: those sums start when gradients come,
/// which on a rank that lacks some is at another place among these.
///
/// From then on every rank must run the same training forward and backward passes: a rank without
/// samples runs them on [0, C, H, W]. Each norm adds an all_gather of 2 C + 1 and an all_reduce of
/// 2 C float64 numbers. Gradients of weight and bias stay sums over the rank's own samples, as
/// other gradients do, and are for the strategy to reduce. Backward cannot be differentiated again.
///
/// Throws ConfigError that names a torch::nn::BatchNorm below `module`, which it cannot change; its
/// forward does when all ranks together have no more than one value per channel.
int set_sync_batch_norm(torch::nn::Module& module, comm::Communicator& communicator);

}  // namespace paceline::parallel
