#pragma once

#include "paceline/tensor/device.h"

#include <functional>

namespace paceline::test {

/// How often `work` makes a thread of this process wait for what is queued on a GPU: for a stream,
/// for the whole GPU, or for an event that has not passed yet. `device` is what test::open_device()
/// gave.
int count_waits(tensor::Device& device, const std::function<void()>& work);

}  // namespace paceline::test
