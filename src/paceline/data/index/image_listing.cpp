#include "paceline/data/index/image_listing.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/parallel_for.h"
#include "paceline/base/text.h"
#include "paceline/data/index/range_index_builder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxDepth = 32;

struct ListedFolder {
  std::string path;  ///< relative to the root
  std::int64_t changed = 0;
  std::vector<FileEntry> files;       ///< images by their names
  std::vector<std::string> left_out;  ///< relative to the root, in words
};

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

/// When a folder changed last; 0 of a remote one, which has no such time.
std::int64_t time_of_change(const fs::path& folder, const Storage& storage) {
  if (is_remote(folder)) return 0;
  const std::optional<FileFacts> facts = storage.facts(folder.string());
  if (!facts) throw base::DataError(fmt::format("{}: no such folder", folder.string()));
  return facts->changed;
}

/// The folder of a class in `root` and all below it, sorted by path.
std::vector<ListedFolder> list_class(const fs::path& root, const std::string& name,
                                     const Storage& storage, ListingProgress& progress) {
  std::vector<ListedFolder> folders;
  FileEntry entry{name, {}};
  entry.facts.changed = time_of_change(root / name, storage);
  list_folder(root, entry, 0, storage, progress, folders);
  std::sort(folders.begin(), folders.end(),
            [](const ListedFolder& a, const ListedFolder& b) { return a.path < b.path; });
  return folders;
}

/// Throws DataError that names the classes whose folders hold no image.
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

/// Class names cannot hold a '/', so it may separate them.
std::string joined(const std::vector<std::string>& classes) {
  return fmt::format("{}/", fmt::join(classes, "/"));
}

std::string key_of(const std::vector<std::string>& classes) {
  return "image_folder " + joined(classes);
}

/// The label of each of the folders that are there.
std::vector<std::int64_t> labels_of(const fs::path& root, const std::vector<std::string>& present,
                                    const std::vector<std::string>& classes) {
  std::vector<std::int64_t> labels;
  for (const std::string& name : present) {
    const auto found = std::ranges::lower_bound(classes, name);
    if (found == classes.end() || *found != name)
      throw base::DataError(
          fmt::format("{}: the training data has no class '{}' ({} classes); remove the folder or "
                      "add training images",
                      (root / name).string(), name, classes.size()));
    labels.push_back(found - classes.begin());
  }
  return labels;
}

/// Collects folders as sources and their files as samples.
class FolderCollector {
 public:
  FolderCollector(const fs::path& root, const std::vector<std::string>& classes,
                  const std::shared_ptr<const Storage>& storage)
      : classes_(classes), builder_(root, key_of(classes), storage) {
    builder_.add_source("", {.is_folder = true, .changed = time_of_change(root, *storage)});
    hash_.update(joined(classes));
  }

  /// A class's folders, its own first.
  void add(std::span<const ListedFolder> folders, std::int64_t label) {
    const std::string& class_path = folders.front().path;
    std::uint32_t source = 0;
    for (const ListedFolder& folder : folders) {
      const std::uint32_t added =
          builder_.add_source(folder.path, {.is_folder = true, .changed = folder.changed});
      if (&folder == &folders.front()) source = added;
      for (const FileEntry& file : folder.files) {
        const std::string path = fmt::format("{}/{}", folder.path, file.name);
        // Runs compare the fingerprint with what they have saved: this must stay what it is.
        hash_.update(fmt::format("{}\n{} {}\n", path, file.facts.size, label));
        builder_.add_file(source, file.facts, label,
                          std::string_view(path).substr(class_path.size() + 1));
      }
      for (const std::string& path : folder.left_out) {
        if (left_out_.count++ < LeftOut::kMostNamed)
          left_out_.first += fmt::format("{}{}", left_out_.first.empty() ? "" : ", ", path);
      }
    }
  }

  RangeIndex finish() {
    return builder_.finish(classes_, left_out_,
                           fmt::format("image_folder:{}:{:016x}", builder_.size(), hash_.digest()));
  }

 private:
  const std::vector<std::string>& classes_;
  RangeIndexBuilder builder_;
  LeftOut left_out_;
  base::Xxh3Stream hash_;
};

}  // namespace

RangeIndex list_image_folder(const fs::path& root, const std::vector<std::string>& classes,
                             int num_threads, const std::shared_ptr<const Storage>& storage,
                             ListingProgress* progress) {
  FolderCollector collector(root, classes, storage);
  ListingProgress own_progress(root.string(), *storage);
  if (progress == nullptr) progress = &own_progress;
  const std::vector<std::string> present = list_classes(root, storage);
  std::vector<std::vector<ListedFolder>> listed(present.size());
  base::parallel_for(static_cast<std::int64_t>(present.size()), num_threads, [&](std::int64_t i) {
    const auto which = static_cast<std::size_t>(i);
    listed[which] = list_class(root, present[which], *storage, *progress);
  });
  require_images(root, present, listed);
  const std::vector<std::int64_t> labels = labels_of(root, present, classes);
  for (std::size_t i = 0; i < present.size(); ++i) collector.add(listed[i], labels[i]);
  return collector.finish();
}

std::optional<RangeIndex> load_image_folder(const fs::path& file, const fs::path& root,
                                            const std::vector<std::string>& classes) {
  auto index = RangeIndex::read(file, root, key_of(classes));
  if (index && !is_remote(root) && !index->has_current_sources(*local_storage()))
    return std::nullopt;
  return index;
}

bool is_image_name(std::string name) {
  for (char& letter : name) {
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  static constexpr std::array<std::string_view, 9> kEndings = {
      ".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".ppm", ".pgm"};
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return name.ends_with(end); });
}

std::vector<std::string> list_classes(const fs::path& root,
                                      const std::shared_ptr<const Storage>& storage) {
  const std::optional<FileFacts> facts = storage->facts(root.string());
  if (!facts || !facts->is_folder)
    throw base::DataError(fmt::format("{}: no such folder", root.string()));
  std::vector<std::string> classes;
  bool has_images = false;
  for (FileEntry& entry : storage->list(root.string())) {
    if (entry.facts.is_folder) {
      classes.push_back(std::move(entry.name));
    } else {
      has_images = has_images || is_image_name(std::move(entry.name));
    }
  }
  if (classes.empty()) {
    throw base::DataError(fmt::format("{}: no class folders{}; expected {}/*.jpg", root.string(),
                                      has_images ? ", but images beside each other" : "",
                                      (root / "<class>").string()));
  }
  return classes;
}

}  // namespace paceline::data
