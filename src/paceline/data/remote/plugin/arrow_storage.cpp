#include "paceline/data/remote/plugin/arrow_storage.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/io/type_fwd.h>
#include <arrow/result.h>
#include <fmt/format.h>

namespace paceline::data {
namespace {

namespace afs = arrow::fs;

[[noreturn]] void fail(const Cloud& cloud, const arrow::Status& status, std::string_view path,
                       std::string_view action) {
  // Google's library adds a kilobyte about itself.
  const std::string said = status.message().substr(0, status.message().find(" error_info="));
  if (cloud.may_pass(status))
    throw TransientError(fmt::format("{}: cannot {}: {}", path, action, said));
  const std::string known = cloud.explain(status);
  if (known.empty()) throw base::DataError(fmt::format("{}: cannot {}: {}", path, action, said));
  throw base::DataError(fmt::format("{}: cannot {}: {} ({})", path, action, known, said));
}

template <class Result>
auto take(const Cloud& cloud, Result result, std::string_view path, std::string_view action) {
  if (!result.ok()) fail(cloud, result.status(), path, action);
  return std::move(result).MoveValueUnsafe();
}

/// What a file and its storage share.
struct ArrowConnection {
  std::unique_ptr<const Cloud> cloud;
  mutable std::mutex mutex;
  mutable std::map<std::string, std::shared_ptr<afs::FileSystem>> buckets;

  const std::shared_ptr<afs::FileSystem>& system_of(const std::string& key) const {
    const std::string bucket = key.substr(0, key.find('/'));
    const std::lock_guard lock(mutex);
    auto& system = buckets[bucket];
    if (!system) system = cloud->connect(bucket);
    return system;
  }
};

class ArrowFile final : public InputFile {
 public:
  ArrowFile(std::string path, std::uint64_t size, std::shared_ptr<arrow::io::RandomAccessFile> file,
            std::shared_ptr<const ArrowConnection> connection)
      : InputFile(std::move(path), size),
        file_(std::move(file)),
        connection_(std::move(connection)) {}

  void read(std::uint64_t offset, std::span<std::uint8_t> target) const override {
    if (offset > size() || target.size() > size() - offset)
      throw base::DataError(fmt::format("{}: ends at byte {}, {} bytes before it should", path(),
                                        size(), offset + target.size() - size()));
    // Arrow puts the text of an error into the memory for the bytes, and loses it if that is small.
    constexpr std::size_t kRoomForErrors = 4096;
    if (target.size() >= kRoomForErrors || target.empty()) return read_exactly(offset, target);
    const std::size_t most = std::min<std::uint64_t>(kRoomForErrors, size());
    const std::uint64_t start = std::min<std::uint64_t>(offset, size() - most);
    std::vector<std::uint8_t> bytes(most);
    read_exactly(start, bytes);
    std::memcpy(target.data(), bytes.data() + (offset - start), target.size());
  }

 private:
  void read_exactly(std::uint64_t offset, std::span<std::uint8_t> target) const {
    const std::int64_t count =
        take(*connection_->cloud,
             file_->ReadAt(static_cast<std::int64_t>(offset),
                           static_cast<std::int64_t>(target.size()), target.data()),
             path(), "read");
    if (count != std::ssize(target))
      throw TransientError(fmt::format("{}: {} of {} bytes came from byte {} on", path(), count,
                                       target.size(), offset));
  }

  std::shared_ptr<arrow::io::RandomAccessFile> file_;
  std::shared_ptr<const ArrowConnection> connection_;
};

FileFacts facts_of(const afs::FileInfo& info) {
  FileFacts facts;
  facts.is_folder = info.type() == afs::FileType::Directory;
  if (facts.is_folder) return facts;
  facts.size = static_cast<std::uint64_t>(info.size());
  facts.changed = info.mtime().time_since_epoch().count();
  return facts;
}

class ArrowStorage final : public Storage {
 public:
  ArrowStorage(std::unique_ptr<const Cloud> cloud, int num_connections)
      : prefix_(fmt::format("{}://", cloud->scheme())),
        num_connections_(num_connections),
        connection_(std::make_shared<ArrowConnection>()) {
    connection_->cloud = std::move(cloud);
  }

  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    return open_known(path, file_facts(*this, path));
  }

  std::unique_ptr<const InputFile> open_known(const std::string& path,
                                              const FileFacts& facts) const override {
    const std::string key = key_of(path);
    afs::FileInfo info(key, afs::FileType::File);
    info.set_size(static_cast<std::int64_t>(facts.size));
    auto file =
        take(*connection_->cloud, connection_->system_of(key)->OpenInputFile(info), path, "open");
    return std::make_unique<const ArrowFile>(path, facts.size, std::move(file), connection_);
  }

  std::optional<FileFacts> facts(const std::string& path) const override {
    const std::string key = key_of(path);
    const auto& system = connection_->system_of(key);
    auto result = system->GetFileInfo(key);
    if (!result.ok()) {
      // The answer to HEAD has no text: a listing tells what is wrong.
      afs::FileSelector folder = selector_of(key);
      folder.allow_not_found = true;
      const auto listed = system->GetFileInfo(folder);
      fail(*connection_->cloud, listed.ok() ? result.status() : listed.status(), path,
           "look at it");
    }
    if (result->type() == afs::FileType::NotFound) return std::nullopt;
    return facts_of(*result);
  }

  std::vector<FileEntry> list(const std::string& folder) const override {
    const std::string key = key_of(folder);
    afs::FileSelector selector = selector_of(key);
    selector.recursive = !connection_->cloud->lists_folders();
    std::vector<FileEntry> entries;
    for (const afs::FileInfo& info :
         take(*connection_->cloud, connection_->system_of(key)->GetFileInfo(selector), folder,
              "list it")) {
      const std::string below = info.path().substr(key.size() + 1);
      const std::size_t slash = below.find('/');
      if (slash == std::string::npos) {
        entries.push_back({below, facts_of(info)});
      } else {
        entries.push_back({below.substr(0, slash), {.is_folder = true}});
      }
    }
    std::sort(entries.begin(), entries.end(),
              [](const FileEntry& a, const FileEntry& b) { return a.name < b.name; });
    const auto is_same = [](const FileEntry& a, const FileEntry& b) { return a.name == b.name; };
    entries.erase(std::unique(entries.begin(), entries.end(), is_same), entries.end());
    return entries;
  }

  int num_connections() const override { return num_connections_; }

 private:
  /// Arrow wants bucket/key, without a slash at the end.
  std::string key_of(const std::string& path) const {
    std::string key = path.substr(prefix_.size());
    while (key.ends_with('/')) key.pop_back();
    if (key.empty() || key.starts_with('/'))
      throw base::ConfigError(
          fmt::format("{}: names no bucket, as {}bucket/folder does", path, prefix_));
    return key;
  }

  static afs::FileSelector selector_of(const std::string& key) {
    afs::FileSelector selector;
    selector.base_dir = key;
    return selector;
  }

  std::string prefix_;
  int num_connections_;
  std::shared_ptr<ArrowConnection> connection_;
};

}  // namespace

std::unique_ptr<const Storage> open_arrow_storage(std::unique_ptr<const Cloud> cloud,
                                                  int num_connections) {
  // Arrow keeps as many connections as it has threads for reading.
  if (num_connections > arrow::io::GetIOThreadPoolCapacity()) {
    const arrow::Status status = arrow::io::SetIOThreadPoolCapacity(num_connections);
    if (!status.ok()) fail(*cloud, status, cloud->scheme(), "start");
  }
  return std::make_unique<const ArrowStorage>(std::move(cloud), num_connections);
}

}  // namespace paceline::data
