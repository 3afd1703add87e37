#include "paceline/data/remote_plugin.h"

#include "paceline/base/error.h"

#include <cstdlib>
#include <filesystem>

#include <dlfcn.h>
#include <fmt/format.h>

namespace paceline::data {
namespace {

std::filesystem::path plugin_path() {
  if (const char* path = std::getenv("PACELINE_REMOTE_PLUGIN"); path != nullptr && *path != '\0') {
    return path;
  }
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "libpaceline_remote.so";
}

}  // namespace

const RemotePlugin& load_remote_plugin() {
  const std::filesystem::path path = plugin_path();
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
