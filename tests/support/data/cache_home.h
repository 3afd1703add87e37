#pragma once

#include "support/temp_folder.h"

#include <cstdlib>
#include <optional>
#include <string>

namespace paceline::test {

/// While it lives, the user's cache is an empty folder of the test's own.
class CacheHome {
 public:
  CacheHome() {
    if (const char* const before = std::getenv(kName)) before_ = before;
    setenv(kName, folder_.path().c_str(), 1);
  }
  ~CacheHome() {
    if (before_) {
      setenv(kName, before_->c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }
  CacheHome(const CacheHome&) = delete;
  CacheHome& operator=(const CacheHome&) = delete;

  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static constexpr const char* kName = "XDG_CACHE_HOME";
  TempFolder folder_;
  std::optional<std::string> before_;
};

}  // namespace paceline::test
