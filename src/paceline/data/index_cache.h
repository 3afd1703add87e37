#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// $XDG_CACHE_HOME/paceline, by default ~/.cache/paceline; empty if there is no home.
std::filesystem::path user_cache();

/// Where the index `name` of the data in `folder` may be kept, best first: folder/.paceline-<name>
/// .index, and for folders that are remote or cannot be written the user's cache. A '/' in the name
/// counts as '-'.
std::vector<std::filesystem::path> index_files(const std::filesystem::path& folder,
                                               const std::string& name);

/// Writes an index under a temporary name and renames it, making the folders on the way. False if
/// that is not possible.
bool save_index(const std::filesystem::path& file, std::string_view bytes);

/// What changed at this time or later (as FileFacts counts it) is so young that a further change
/// might not alter its time.
std::int64_t settled_before();

/// The index that `load(file)` finds in one of the files, or the one that `make()` makes, saved in
/// the first file where that works. Where none can be written, the next start makes it again.
template <class Load, class Make>
auto load_or_make(const std::vector<std::filesystem::path>& files, Load load, Make make) {
  for (const std::filesystem::path& file : files) {
    if (auto index = load(file)) return *std::move(index);
  }
  auto index = make();
  if (index.is_settled()) {
    std::any_of(files.begin(), files.end(), [&](const auto& file) { return index.save(file); });
  }
  return index;
}

}  // namespace paceline::data
