#pragma once

#include <cstddef>

// What libpaceline_cuda.so exports for tensor: plain C, so that the program can look it up by name.

namespace paceline::tensor {

class Device;

/// Makes the device of a rank (open_cuda_device). The caller owns it. On failure returns nullptr
/// and writes what went wrong to `error`, cut to `error_size` bytes with a zero at the end.
using OpenDevice = Device*(int local_rank, char* error, std::size_t error_size);

inline constexpr const char* kOpenDeviceName = "paceline_open_device";

}  // namespace paceline::tensor
