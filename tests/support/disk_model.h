#pragma once

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::test {

/// What a disk must hold by POSIX, and what it may hold besides, if the power fails: the contents
/// of a file as of its last fsync, the names in a folder as of that folder's. What came later may
/// be there or not, folder by folder: no order between folders is assumed, but that a rename from
/// one to another is not half done. Paths are relative.
class DiskModel {
 public:
  struct File {
    std::string written;
    std::string synced;
  };
  /// Contents by path; a folder has none.
  using Disk = std::map<std::string, std::optional<std::string>>;
  struct Outcome {
    std::string what;  ///< of the later changes is there, for messages
    Disk disk;
  };

  File& create(const std::filesystem::path& path) {
    File& file = files_.emplace_back();
    parent_of(path).written[path.filename()] = &file;
    return file;
  }

  /// nullptr if nothing has that name.
  File* find_file(const std::filesystem::path& path) {
    const std::optional<Node> node = find(path);
    return node ? std::get<File*>(*node) : nullptr;
  }

  void make_folders(const std::filesystem::path& path) {
    std::filesystem::path made;
    for (Folder* folder = &root_; const auto& part : path) {
      made /= part;
      if (part.empty() || part == ".") continue;
      const auto [entry, is_new] = folder->written.try_emplace(part, Node());
      if (is_new) {
        folder = &folders_.emplace_back();
        folder->name = made;
        entry->second = folder;
      } else {
        folder = std::get<Folder*>(entry->second);
      }
    }
  }

  void rename(const std::filesystem::path& from, const std::filesystem::path& to) {
    Folder& source = parent_of(from);
    Folder& target = parent_of(to);
    target.written[to.filename()] = node_of(from);
    source.written.erase(from.filename());
    if (&source != &target) source.moved_to.insert(&target);
  }

  void link(const std::filesystem::path& from, const std::filesystem::path& to) {
    parent_of(to).written[to.filename()] = node_of(from);
  }

  /// What is not there is no error.
  void remove_all(const std::filesystem::path& path) {
    const std::optional<Node> node = find(path);
    if (!node) return;
    empty(*node);
    parent_of(path).written.erase(path.filename());
  }

  static void sync(File& file) { file.synced = file.written; }

  void sync_folder(const std::filesystem::path& path) { sync(folder_at(path)); }

  /// As it is, all of it is on disk.
  void sync_all() {
    for (File& file : files_) sync(file);
    for (Folder& folder : folders_) sync(folder);
    sync(root_);
  }

  /// The disks that a power loss may leave behind: of the later changes none, those of one folder,
  /// those of all folders but one, or all of them; and what was not fsynced of files is missing,
  /// half there and half zeros, or there.
  std::vector<Outcome> after_power_loss() const {
    std::vector<const Folder*> changed;
    bool has_unsynced_contents = false;
    find_changes(root_, changed, has_unsynced_contents);
    std::vector<Outcome> outcomes;
    for (const std::set<const Folder*>& names : choices(changed)) {
      for (const Contents contents : {Contents::kSynced, Contents::kTorn, Contents::kWritten}) {
        if (contents != Contents::kSynced && !has_unsynced_contents) continue;
        Outcome& outcome = outcomes.emplace_back();
        outcome.what = describe(names, contents);
        lay_out(root_, "", names, contents, outcome.disk);
      }
    }
    return outcomes;
  }

 private:
  struct Folder;
  using Node = std::variant<File*, Folder*>;
  struct Folder {
    std::filesystem::path name;  ///< when it was made, for messages
    std::map<std::string, Node> written;
    std::map<std::string, Node> synced;
    std::set<Folder*> moved_to;  ///< where renames went that are not on disk yet
  };
  enum class Contents { kSynced, kTorn, kWritten };

  std::optional<Node> find(const std::filesystem::path& path) {
    Node node = &root_;
    for (const auto& part : path) {
      const auto& names = std::get<Folder*>(node)->written;
      const auto found = names.find(part);
      if (found == names.end()) return std::nullopt;
      node = found->second;
    }
    return node;
  }
  Node node_of(const std::filesystem::path& path) {
    if (const std::optional<Node> node = find(path)) return *node;
    throw std::logic_error(path.string() + " was not made through this file system");
  }
  Folder& folder_at(const std::filesystem::path& path) { return *std::get<Folder*>(node_of(path)); }
  Folder& parent_of(const std::filesystem::path& path) { return folder_at(path.parent_path()); }

  static void empty(const Node& node) {
    Folder* const* const folder = std::get_if<Folder*>(&node);
    if (folder == nullptr) return;
    for (const auto& [name, child] : (*folder)->written) empty(child);
    (*folder)->written.clear();
  }

  void sync(Folder& folder) {
    folder.synced = folder.written;
    folder.moved_to.clear();
    root_.moved_to.erase(&folder);
    for (Folder& other : folders_) other.moved_to.erase(&folder);
  }

  /// Of all that may be found from a folder on, whichever of its names are there.
  static void find_changes(const Folder& folder, std::vector<const Folder*>& changed,
                           bool& has_unsynced_contents) {
    if (folder.written != folder.synced &&
        std::find(changed.begin(), changed.end(), &folder) == changed.end())
      changed.push_back(&folder);
    for (const auto* names : {&folder.written, &folder.synced}) {
      for (const auto& [name, node] : *names) {
        if (const auto* const child = std::get_if<Folder*>(&node)) {
          find_changes(**child, changed, has_unsynced_contents);
        } else {
          const File& file = *std::get<File*>(node);
          has_unsynced_contents = has_unsynced_contents || file.written != file.synced;
        }
      }
    }
  }

  static std::set<std::set<const Folder*>> choices(const std::vector<const Folder*>& changed) {
    const std::set<const Folder*> all(changed.begin(), changed.end());
    std::set<std::set<const Folder*>> choices{{}, all};
    for (const Folder* const one : changed) {
      choices.insert(with_targets({one}, all));
      std::set<const Folder*> others = all;
      others.erase(one);
      std::erase_if(others,
                    [&](const Folder* other) { return with_targets({other}, all).contains(one); });
      choices.insert(others);
    }
    return choices;
  }

  /// Adds where renames out of these folders went.
  static std::set<const Folder*> with_targets(std::set<const Folder*> folders,
                                              const std::set<const Folder*>& changed) {
    for (std::size_t before = 0; before != folders.size();) {
      before = folders.size();
      for (const Folder* const folder : std::set(folders)) {
        for (const Folder* const target : folder->moved_to)
          if (changed.contains(target)) folders.insert(target);
      }
    }
    return folders;
  }

  static std::string describe(const std::set<const Folder*>& names, Contents contents) {
    std::vector<std::string> folders;
    for (const Folder* const folder : names) folders.push_back("'" + folder->name.string() + "'");
    constexpr std::string_view kContents[] = {"no unsynced contents", "torn unsynced contents",
                                              "all contents"};
    return fmt::format("unsynced names in {{{}}}, {}", fmt::join(folders, ", "),
                       kContents[static_cast<int>(contents)]);
  }

  static std::string content_of(const File& file, Contents contents) {
    if (contents == Contents::kWritten) return file.written;
    if (contents == Contents::kSynced || file.written == file.synced) return file.synced;
    // Blocks that were never written back read as zeros.
    const std::size_t common = std::min(file.synced.size(), file.written.size());
    std::string torn = file.written.substr(0, common + (file.written.size() - common) / 2);
    torn.resize(file.written.size());
    return torn;
  }

  static void lay_out(const Folder& folder, const std::string& path,
                      const std::set<const Folder*>& names, Contents contents, Disk& disk) {
    for (const auto& [name, node] : names.contains(&folder) ? folder.written : folder.synced) {
      const std::string child_path = path.empty() ? name : path + "/" + name;
      if (const auto* const child = std::get_if<Folder*>(&node)) {
        disk[child_path] = std::nullopt;
        lay_out(**child, child_path, names, contents, disk);
      } else {
        disk[child_path] = content_of(*std::get<File*>(node), contents);
      }
    }
  }

  std::deque<File> files_;
  std::deque<Folder> folders_;
  Folder root_;
};

}  // namespace paceline::test
