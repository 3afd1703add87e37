#include "paceline/data/ct/ct_plugin.h"

#include "paceline/base/error.h"
#include "paceline/base/plugin_path.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace paceline::data {

const CtPlugin& load_ct_plugin() {
  const std::filesystem::path path = base::plugin_path(base::kCtPlugin);
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    throw base::ConfigError(
        fmt::format("CT scans need {}, which cannot be loaded: {}", path.string(), dlerror()));
  }
  using Entry = const CtPlugin* (*)(int);
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, kCtPluginEntry));  // NOLINT: as dlsym is
  const CtPlugin* const plugin = entry == nullptr ? nullptr : entry(kCtPluginAbi);
  if (plugin == nullptr) {
    throw base::ConfigError(fmt::format("{} is of another version: build it anew", path.string()));
  }
  return *plugin;
}

}  // namespace paceline::data
