#include "paceline/data/remote/remote_plugin.h"

#include "paceline/base/error.h"
#include "paceline/base/plugin_path.h"

#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

namespace paceline::data {

const RemotePlugin& load_remote_plugin() {
  const std::filesystem::path path = base::plugin_path(base::kRemotePlugin);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw base::ConfigError(fmt::format(
        "remote data and Parquet need {}, which cannot be loaded: {}", path.string(), dlerror()));
  }
  using Entry = const RemotePlugin* (*)(int);
  const auto entry =
      reinterpret_cast<Entry>(dlsym(handle, kRemotePluginEntry));  // NOLINT: as dlsym is
  const RemotePlugin* const plugin = entry == nullptr ? nullptr : entry(kRemotePluginAbi);
  if (plugin == nullptr) {
    throw base::ConfigError(fmt::format("{} is of another version: build it anew", path.string()));
  }
  return *plugin;
}

}  // namespace paceline::data
