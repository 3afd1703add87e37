#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::data {

/// Where the index `name` of the data in `folder` may be kept, best first: folder/.paceline-<name>
/// .index, and for folders that cannot be written $XDG_CACHE_HOME/paceline (by default
/// ~/.cache/paceline). A '/' in the name counts as '-'.
std::vector<std::filesystem::path> index_files(const std::filesystem::path& folder,
                                               const std::string& name);

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
