#include "paceline/data/index_cache.h"

#include "paceline/base/file.h"
#include "paceline/base/hash.h"
#include "paceline/data/storage.h"

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

namespace paceline::data {

namespace fs = std::filesystem;

std::vector<fs::path> index_files(const fs::path& folder, const std::string& name) {
  std::string plain_name = name;
  std::replace(plain_name.begin(), plain_name.end(), '/', '-');
  std::vector<fs::path> files;
  if (!is_remote(folder)) files.push_back(folder / fmt::format(".paceline-{}.index", plain_name));
  const fs::path cache = user_cache();
  if (!cache.empty()) {
    const fs::path place = folder / name;
    const std::string text =
        is_remote(folder) ? place.string() : fs::absolute(place).lexically_normal().string();
    files.push_back(cache / fmt::format("{:016x}-{}.index", base::xxh3(text), plain_name));
  }
  return files;
}

fs::path user_cache() {
  if (const char* const given = std::getenv("XDG_CACHE_HOME"); given != nullptr && *given != 0) {
    return fs::path(given) / "paceline";
  } else if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0) {
    return fs::path(home) / ".cache" / "paceline";
  }
  return {};
}

bool save_index(const fs::path& file, std::string_view bytes) {
  base::RealFileSystem files;
  try {
    files.create_directories(file.parent_path());
    base::write_file_atomically(files, file, bytes);
    return true;
  } catch (const base::FileError&) {
    return false;
  }
}

std::int64_t settled_before() {
  // File systems count time in steps of up to two seconds.
  const auto limit = std::chrono::system_clock::now() - std::chrono::seconds(2);
  return std::chrono::nanoseconds(limit.time_since_epoch()).count();
}

}  // namespace paceline::data
