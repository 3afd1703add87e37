#include "paceline/tensor/cuda_plugin.h"

#include "paceline/base/error.h"
#include "paceline/base/plugin_path.h"

#include <filesystem>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

namespace paceline::tensor {
namespace {

/// Without the driver libtorch_cuda would load, cost a second and a gigabyte, and find nothing.
bool has_driver() { return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != nullptr; }

/// What the plug-in was built with that this program was not, for people; empty if they fit.
std::string wrong_version(void* plugin) {
  auto* abi = reinterpret_cast<int (*)()>(dlsym(plugin, kCudaPluginAbiName));  // NOLINT: as dlsym
  if (abi == nullptr || abi() != kCudaPluginAbi) return "is of another version";
  auto* libtorch = reinterpret_cast<const char* (*)()>(  // NOLINT: as dlsym is
      dlsym(plugin, kCudaPluginLibTorchName));
  const std::string_view built_with = libtorch == nullptr ? "another" : libtorch();
  if (built_with == TORCH_VERSION) return {};
  return fmt::format("was built with LibTorch {}, and this program with {}", built_with,
                     TORCH_VERSION);
}

}  // namespace

CudaPlugin load_cuda_plugin() {
  if (!has_driver()) {
    return {nullptr, "this machine has no NVIDIA driver (libcuda.so.1 cannot be loaded)"};
  }
  const std::filesystem::path path = base::plugin_path(base::kCudaPlugin);
  if (std::error_code error; !std::filesystem::exists(path, error)) {
    return {nullptr,
            fmt::format("{} does not exist; build it with the cuda preset", path.string())};
  }
  // RTLD_GLOBAL: libtorch_cuda registers its kernels with the libtorch_cpu that is loaded already.
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    return {nullptr, fmt::format("cannot load {}: {}", path.string(), dlerror())};
  }
  if (const std::string fault = wrong_version(handle); !fault.empty())
    return {nullptr, fmt::format("{} {}: build it anew", path.string(), fault)};
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
