#pragma once

#include <string>

namespace paceline::tensor {

/// Whether libpaceline_cuda.so is loaded and, if not, why.
struct CudaPlugin {
  void* handle = nullptr;  ///< of dlopen; never closed
  std::string reason;
};

/// Loads the plug-in, and with it LibTorch's CUDA half, when this machine has an NVIDIA driver;
/// loading again returns the same handle. The first call must come before the first use of a
/// tensor: LibTorch looks for CUDA once and keeps what it found. The file is $PACELINE_CUDA_PLUGIN,
/// else ../lib/libpaceline_cuda.so beside the program. Needs no torch itself.
CudaPlugin load_cuda_plugin();

/// The function that the plug-in exports under this name. Throws ConfigError that says why there is
/// none.
void* cuda_plugin_symbol(const char* name);

/// To be raised with every change of a class or function that the plug-in and the program share.
inline constexpr int kCudaPluginAbi = 3;
/// `extern "C" int paceline_cuda_abi()` of the plug-in says which it was built with,
inline constexpr const char* kCudaPluginAbiName = "paceline_cuda_abi";
/// and `extern "C" const char* paceline_cuda_libtorch()` with which LibTorch.
inline constexpr const char* kCudaPluginLibTorchName = "paceline_cuda_libtorch";

}  // namespace paceline::tensor
