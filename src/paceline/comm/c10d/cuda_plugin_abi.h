#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// What libpaceline_cuda.so exports for comm: plain C, so that the program can look it up by name.

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace paceline::comm {

/// A group of ranks that NCCL connects.
struct NcclGroup {
  c10d::Store* store = nullptr;  ///< of this group alone
  int rank = 0;                  ///< of this process in the group
  std::span<const int> members;  ///< their ranks in the run
  int device = 0;                ///< the GPU of this process
  std::int64_t timeout_ms = 0;
};

/// Makes an NCCL backend. The caller owns the reference that is returned. On failure returns
/// nullptr and writes what went wrong to `error`, cut to `error_size` bytes with a zero at the end.
using MakeNcclBackend = c10d::Backend*(const NcclGroup& group, char* error, std::size_t error_size);

inline constexpr const char* kMakeNcclBackendName = "paceline_make_nccl_backend";

}  // namespace paceline::comm
