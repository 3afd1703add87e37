#include "paceline/data/index_cache.h"

#include "paceline/base/file.h"
#include "paceline/base/hash.h"

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

namespace paceline::data {

namespace fs = std::filesystem;

std::vector<fs::path> index_files(const fs::path& folder, const std::string& name) {
  std::string plain_name = name;
  std::replace(plain_name.begin(), plain_name.end(), '/', '-');
  std::vector<fs::path> files = {folder / fmt::format(".paceline-{}.index", plain_name)};
  fs::path cache;
  if (const char* const given = std::getenv("XDG_CACHE_HOME"); given != nullptr && *given != 0) {
    cache = given;
  } else if (const char* const home = std::getenv("HOME"); home != nullptr && *home != 0) {
    cache = fs::path(home) / ".cache";
  }
  if (!cache.empty()) {
    const std::string place = fs::absolute(folder / name).lexically_normal().string();
    files.push_back(cache / "paceline" /
                    fmt::format("{:016x}-{}.index", base::xxh3(place), plain_name));
  }
  return files;
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
  const auto limit = fs::file_time_type::clock::now() - std::chrono::seconds(2);
  return limit.time_since_epoch().count();
}

}  // namespace paceline::data
