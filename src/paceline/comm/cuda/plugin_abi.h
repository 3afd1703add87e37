#pragma once

#include <cstddef>
#include <cstdint>

// What libpaceline_cuda.so exports for comm: plain C, so that the program can look it up by name.

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

/// Makes an NCCL backend on GPU `device`. The caller owns the reference that is returned. On
/// failure returns nullptr and writes what went wrong to `error`, cut to `error_size` bytes with a
/// zero at the end.
using PacelineMakeNcclBackend = c10d::Backend*(c10d::Store* store, int rank, int world_size,
                                               int device, std::int64_t timeout_ms, char* error,
                                               std::size_t error_size);

inline constexpr const char* kPacelineMakeNcclBackendName = "paceline_make_nccl_backend";
