#include "paceline/app/local_path.h"

#include "paceline/base/error.h"
#include "paceline/data/storage.h"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

namespace paceline::app {
namespace {

std::string home_of_user(const std::string& text) {
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return home;
  throw base::ConfigError(
      fmt::format("'{}': the environment has no HOME for ~ to stand for: write the path", text));
}

}  // namespace

std::string absolute_path(const std::string& text) {
  if (text.empty() || data::is_remote(text)) return text;
  std::string path = data::without_file_scheme(text);
  if (path == "~" || path.starts_with("~/")) path = home_of_user(text) + path.substr(1);
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace paceline::app
