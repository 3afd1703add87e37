#pragma once

#include "paceline/comm/c10d/bootstrap.h"
#include "paceline/tensor/device.h"

#include <memory>

namespace paceline::test {

/// Whether PACELINE_GPU_TEST=stand-in, so that these tests themselves can be tried without a GPU:
/// on a QueuedDevice, and with two ranks over Gloo.
bool uses_stand_in();

/// How many ranks of one process get a device of their own: the GPUs that it sees.
int num_devices();

/// The device of a rank, made the calling thread's.
std::unique_ptr<tensor::Device> open_device(int rank);

/// The rank's communicator, for tensors on its device.
std::unique_ptr<comm::Communicator> connect(const comm::GroupOptions& options);

}  // namespace paceline::test
