#include "paceline/data/index/image_listing.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/data/index/image_index.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 32;

bool is_hidden(const std::string& name) { return name.starts_with('.'); }

/// The links to nothing in a folder of this machine, which no storage lists.
std::vector<std::string> links_to_nothing(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::error_code loop;  // a circle of links leads to nothing, too
    if (entry.is_symlink() && !fs::exists(entry.path(), loop))
      names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// A folder whose own facts are known.
void list_folder(const fs::path& root, const FileEntry& entry, int depth, const Storage& storage,
                 ListingProgress& progress, std::vector<ListedFolder>& folders) {
  const std::string& relative = entry.name;
  if (depth > kMaxDepth) {
    throw base::DataError(
        fmt::format("{}: folders are nested more than {} deep; is a symbolic link "
                    "part of a circle?",
                    (root / relative).string(), kMaxDepth));
  }
  // The time was taken first: a change during the listing makes the index stale.
  ListedFolder folder{relative, entry.facts.changed, {}, {}};
  std::vector<FileEntry> inner;
  for (FileEntry& found : storage.list((root / relative).string())) {
    if (found.facts.is_folder) {
      inner.push_back({fmt::format("{}/{}", relative, found.name), found.facts});
    } else if (is_image_name(found.name)) {
      folder.files.push_back(std::move(found));
    } else if (!is_hidden(found.name)) {
      folder.left_out.push_back(fmt::format("{}/{}", relative, found.name));
    }
  }
  if (!is_remote(root)) {
    for (const std::string& name : links_to_nothing(root / relative))
      folder.left_out.push_back(fmt::format("{}/{} (a link to nothing)", relative, name));
  }
  progress.add(std::ssize(folder.files));
  folders.push_back(std::move(folder));
  for (const FileEntry& found : inner)
    list_folder(root, found, depth + 1, storage, progress, folders);
}

}  // namespace

std::int64_t time_of_change(const fs::path& folder, const Storage& storage) {
  const std::optional<FileFacts> facts = storage.facts(folder.string());
  if (!facts) throw base::DataError(fmt::format("{}: no such folder", folder.string()));
  return facts->changed;
}

std::vector<ListedFolder> list_class(const fs::path& root, const std::string& name,
                                     const Storage& storage, ListingProgress& progress) {
  std::vector<ListedFolder> folders;
  FileEntry entry{name, {}};
  if (!is_remote(root)) entry.facts.changed = time_of_change(root / name, storage);
  list_folder(root, entry, 0, storage, progress, folders);
  std::sort(folders.begin(), folders.end(),
            [](const ListedFolder& a, const ListedFolder& b) { return a.path < b.path; });
  return folders;
}

void require_images(const fs::path& root, std::span<const std::string> classes,
                    std::span<const std::vector<ListedFolder>> listed) {
  std::vector<std::string> empty;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (std::ranges::all_of(listed[i], [](const auto& folder) { return folder.files.empty(); }))
      empty.push_back(classes[i]);
  }
  if (empty.empty()) return;
  throw base::DataError(fmt::format(
      "{}: no images (.jpg, .jpeg, .png, .webp, .bmp, .tif, .tiff, .ppm or .pgm) lie in the "
      "folders of these classes: {}; add some or remove the folders",
      root.string(), base::join_first(empty, 10)));
}

}  // namespace paceline::data
