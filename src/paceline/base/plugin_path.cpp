#include "paceline/base/plugin_path.h"

#include <cstdlib>

namespace paceline::base {

std::filesystem::path plugin_path(const Plugin& plugin) {
  if (const char* path = std::getenv(plugin.variable); path != nullptr && *path != '\0')
    return path;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / plugin.file_name;
}

}  // namespace paceline::base
