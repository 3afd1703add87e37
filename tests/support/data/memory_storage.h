#pragma once

#include "paceline/base/error.h"
#include "paceline/data/storage.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace paceline::data {

/// A storage in memory, which stands in for a remote one and fails on command. Folders are what
/// comes before the names of files. Thread-safe.
class MemoryStorage final : public Storage {
 public:
  /// Called before every read with the path and the first byte; may throw, or change what was read.
  using Disturbance =
      std::function<void(const std::string& path, std::uint64_t offset, std::span<std::uint8_t>)>;

  std::map<std::string, std::string> contents;  ///< by path
  Disturbance disturb;

  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    const auto found = contents.find(path);
    if (found == contents.end()) throw base::DataError(path + ": not found");
    return std::make_unique<const File>(*this, path, found->second);
  }
  std::optional<FileFacts> facts(const std::string& path) const override {
    if (const auto found = contents.find(path); found != contents.end())
      return FileFacts{.size = found->second.size(), .changed = 1};
    if (!list(path).empty()) return FileFacts{.is_folder = true};
    return std::nullopt;
  }
  std::vector<FileEntry> list(const std::string& folder) const override {
    std::vector<FileEntry> entries;
    for (const auto& [path, content] : contents) {
      if (!path.starts_with(folder + "/")) continue;
      const std::string rest = path.substr(folder.size() + 1);
      const std::string name = rest.substr(0, rest.find('/'));
      if (!entries.empty() && entries.back().name == name) continue;
      const bool is_folder = name != rest;
      entries.push_back({name, {is_folder, is_folder ? 0 : content.size(), 1}});
    }
    return entries;
  }

  /// Reads so far, in their order, each by its first byte.
  std::vector<std::uint64_t> read_offsets() const {
    const std::lock_guard lock(mutex_);
    return offsets_;
  }

 private:
  class File final : public InputFile {
   public:
    File(const MemoryStorage& storage, const std::string& path, const std::string& content)
        : InputFile(path, content.size()), storage_(storage), content_(content) {}
    void read(std::uint64_t offset, std::span<std::uint8_t> target) const override {
      const std::lock_guard lock(storage_.mutex_);
      storage_.offsets_.push_back(offset);
      if (offset + target.size() > content_.size())
        throw base::DataError(path() + ": ends before that");
      std::memcpy(target.data(), content_.data() + offset, target.size());
      if (storage_.disturb) storage_.disturb(path(), offset, target);
    }

   private:
    const MemoryStorage& storage_;
    const std::string& content_;
  };

  mutable std::mutex mutex_;
  mutable std::vector<std::uint64_t> offsets_;
};

}  // namespace paceline::data
