#include "paceline/base/home_path.h"

#include "paceline/base/error.h"

#include <cstdlib>

namespace paceline::base {

std::string with_home(std::string_view path) {
  if (path != "~" && !path.starts_with("~/")) return std::string(path);
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    throw ConfigError(
        fmt::format("'{}': the environment has no HOME for ~ to stand for: write the path", path));
  }
  return home + std::string(path.substr(1));
}

}  // namespace paceline::base
