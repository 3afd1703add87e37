#pragma once

#include <cstdint>

#include <c10/core/Device.h>

namespace paceline::tensor {

/// Bytes of a GPU that LibTorch's caching allocator can give out from here on, besides what is in
/// tensors: what the driver has free and what the allocator holds unused. `place` is a GPU whose
/// context is there.
std::uint64_t obtainable_device_bytes(c10::Device place);

/// Gives what the allocator holds unused back to the driver, and has Device::memory()'s peak start
/// anew.
void restart_device_peak(c10::Device place);

}  // namespace paceline::tensor
