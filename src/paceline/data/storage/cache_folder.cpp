#include "paceline/data/storage/cache_folder.h"

#include "paceline/base/file_status.h"

#include <chrono>
#include <cstdlib>
#include <system_error>

namespace paceline::data {

namespace fs = std::filesystem;

fs::path user_cache() {
  if (const char* const given = std::getenv("XDG_CACHE_HOME"); given != nullptr && *given != 0) {
    return fs::path(given) / "paceline";
  } else if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0) {
    return fs::path(home) / ".cache" / "paceline";
  }
  return {};
}

void remove_abandoned_files(const fs::path& folder, base::FileSystem& files) {
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::error_code error;
  for (fs::directory_iterator found(folder, error), end; !error && found != end;
       found.increment(error)) {
    if (!base::is_unfinished_name(found->path().filename().string())) continue;
    std::error_code gone;  // another process may remove it meanwhile
    const auto written = fs::last_write_time(found->path(), gone);
    if (!gone && written < long_ago) files.remove_all(found->path());
  }
  if (error) throw base::FileError("list", folder, error.value());
}

}  // namespace paceline::data
