#pragma once

#include <string>

namespace paceline::comm {

/// Whether libpaceline_cuda.so is loaded and, if not, why.
struct CudaPlugin {
  void* handle = nullptr;  ///< of dlopen; never closed
  std::string reason;
};

/// Loads the plug-in, and with it LibTorch's CUDA half, when this machine has an NVIDIA driver;
/// loading again returns the same handle. The first call must come before the first use of a
/// tensor: LibTorch looks for CUDA once and keeps what it found. The file is $PACELINE_CUDA_PLUGIN,
/// else
/// ../lib/libpaceline_cuda.so beside the program. Needs no torch itself.
CudaPlugin load_cuda_plugin();

}  // namespace paceline::comm
