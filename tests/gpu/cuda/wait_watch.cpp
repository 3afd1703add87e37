// libgpu_wait_watch.so: the one part of the tests that sees CUDA's headers. A library of its own,
// so that the test program, as paceline's, links nothing of CUDA.

#include <c10/cuda/CUDAFunctions.h>

/// From here on LibTorch warns of each call that waits for the GPU, or does not.
extern "C" __attribute__((visibility("default"))) void paceline_warn_of_waits(int is_on) {
  c10::cuda::warning_state().set_sync_debug_mode(is_on != 0 ? c10::cuda::SyncDebugMode::L_WARN
                                                            : c10::cuda::SyncDebugMode::L_DISABLED);
}
