#include "paceline/data/remote/arrow_storage.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <utility>

#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <fmt/format.h>

namespace paceline::data {
namespace {

namespace afs = arrow::fs;

template <class Result>
auto take(Result result, std::string_view path, std::string_view action) {
  if (!result.ok())
    throw base::DataError(
        fmt::format("{}: cannot {}: {}", path, action, result.status().message()));
  return std::move(result).MoveValueUnsafe();
}

class ArrowFile final : public InputFile {
 public:
  ArrowFile(std::string path, std::uint64_t size, std::shared_ptr<arrow::io::RandomAccessFile> file)
      : InputFile(std::move(path), size), file_(std::move(file)) {}

  void read(std::uint64_t offset, std::span<std::uint8_t> target) const override {
    const std::int64_t count =
        take(file_->ReadAt(static_cast<std::int64_t>(offset),
                           static_cast<std::int64_t>(target.size()), target.data()),
             path(), "read");
    if (count != std::ssize(target))
      throw base::DataError(fmt::format("{}: ends at byte {}, {} bytes before it should", path(),
                                        offset + static_cast<std::uint64_t>(count),
                                        std::ssize(target) - count));
  }

 private:
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
};

FileFacts facts_of(const afs::FileInfo& info) {
  FileFacts facts;
  facts.is_folder = info.type() == afs::FileType::Directory;
  if (!facts.is_folder) facts.size = static_cast<std::uint64_t>(info.size());
  facts.changed = info.mtime().time_since_epoch().count();
  return facts;
}

class ArrowStorage final : public Storage {
 public:
  ArrowStorage(std::string prefix, std::shared_ptr<afs::FileSystem> system)
      : prefix_(std::move(prefix)), system_(std::move(system)) {}

  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    auto file = take(system_->OpenInputFile(key_of(path)), path, "open");
    const auto size = static_cast<std::uint64_t>(take(file->GetSize(), path, "open"));
    return std::make_unique<const ArrowFile>(path, size, std::move(file));
  }

  std::optional<FileFacts> facts(const std::string& path) const override {
    const afs::FileInfo info = take(system_->GetFileInfo(key_of(path)), path, "look at");
    if (info.type() == afs::FileType::NotFound) return std::nullopt;
    return facts_of(info);
  }

  std::vector<FileEntry> list(const std::string& folder) const override {
    afs::FileSelector selector;
    selector.base_dir = key_of(folder);
    std::vector<FileEntry> entries;
    for (const afs::FileInfo& info : take(system_->GetFileInfo(selector), folder, "list"))
      entries.push_back({info.base_name(), facts_of(info)});
    std::sort(entries.begin(), entries.end(),
              [](const FileEntry& a, const FileEntry& b) { return a.name < b.name; });
    return entries;
  }

 private:
  /// Arrow wants bucket/key.
  std::string key_of(const std::string& path) const { return path.substr(prefix_.size()); }

  std::string prefix_;
  std::shared_ptr<afs::FileSystem> system_;
};

}  // namespace

std::unique_ptr<const Storage> open_arrow_storage(std::string_view scheme,
                                                  const RemoteConfig& /*config*/) {
  const std::string prefix = fmt::format("{}://", scheme);
  auto system = take(afs::FileSystemFromUri(prefix), prefix, "open");
  return std::make_unique<const ArrowStorage>(prefix, std::move(system));
}

}  // namespace paceline::data
