#include "paceline/tensor/cuda_plugin.h"

#include "paceline/base/error.h"
#include "paceline/base/plugin_path.h"

#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

namespace paceline::tensor {
namespace {

/// Without the driver libtorch_cuda would load, cost a second and a gigabyte, and find nothing.
bool has_driver() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr; }

}  // namespace

CudaPlugin load_cuda_plugin() {
  if (!has_driver()) {
    return {nullptr, "this machine has no NVIDIA driver (libcuda.so.1 cannot be loaded)"};
  }
  const std::filesystem::path path =
      base::plugin_path("PACELINE_CUDA_PLUGIN", "libpaceline_cuda.so");
  if (std::error_code error; !std::filesystem::exists(path, error)) {
    return {nullptr,
            fmt::format("{} does not exist; build it with the cuda preset", path.string())};
  }
  // RTLD_GLOBAL: libtorch_cuda registers its kernels with the libtorch_cpu that is loaded already.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    return {nullptr, fmt::format("cannot load {}: {}", path.string(), dlerror())};
  }
  auto* abi =
      reinterpret_cast<int (*)()>(dlsym(handle, kCudaPluginAbiName));  // NOLINT: as dlsym is
  if (abi == nullptr || abi() != kCudaPluginAbi) {
    return {nullptr, fmt::format("{} is of another version: build it anew", path.string())};
  }
  return {handle, {}};
}

void* cuda_plugin_symbol(const char* name) {
  const CudaPlugin plugin = load_cuda_plugin();
  if (plugin.handle == nullptr) {
    throw base::ConfigError("device cuda is not available: " + plugin.reason);
  }
  void* symbol = dlsym(plugin.handle, name);
  if (symbol == nullptr) {
    throw base::ConfigError(fmt::format("libpaceline_cuda.so exports no {}: build it anew", name));
  }
  return symbol;
}

}  // namespace paceline::tensor
