#include "paceline/data/storage/caching_storage.h"

#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::data {
namespace {

/// Opens the file itself when something of it is not in the cache.
class CachingFile final : public InputFile {
 public:
  CachingFile(const std::string& path, const FileFacts& facts,
              std::shared_ptr<const Storage> storage, std::shared_ptr<ByteCache> cache,
              std::shared_ptr<CacheCounts> counts)
      : InputFile(path, facts.size),
        facts_(facts),
        storage_(std::move(storage)),
        cache_(std::move(cache)),
        counts_(std::move(counts)) {}

  void read(std::uint64_t offset, std::span<std::uint8_t> target) const override {
    read_parts(std::vector<FilePart>{{offset, target}});
  }

  void read_once(std::uint64_t offset, std::span<std::uint8_t> target) const override {
    file().read_once(offset, target);
  }

  void read_parts(std::span<const FilePart> parts) const override {
    std::vector<FilePart> missing;
    for (const FilePart& part : parts) {
      if (!cache_->get(key_of(part), part.target)) missing.push_back(part);
    }
    const auto num_missing = static_cast<std::int64_t>(missing.size());
    counts_->hits.fetch_add(std::ssize(parts) - num_missing, std::memory_order_relaxed);
    counts_->misses.fetch_add(num_missing, std::memory_order_relaxed);
    if (missing.empty()) return;
    file().read_parts(missing);
    for (const FilePart& part : missing) cache_->put(key_of(part), part.target);
  }

 private:
  std::string key_of(const FilePart& part) const {
    return fmt::format("{}\n{} {} {} {}", path(), facts_.size, facts_.changed, part.offset,
                       part.target.size());
  }

  const InputFile& file() const {
    const std::lock_guard lock(mutex_);
    if (!file_) file_ = storage_->open_known(path(), facts_);
    return *file_;
  }

  FileFacts facts_;
  std::shared_ptr<const Storage> storage_;
  std::shared_ptr<ByteCache> cache_;
  std::shared_ptr<CacheCounts> counts_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const InputFile> file_;
};

class CachingStorage final : public Storage {
 public:
  CachingStorage(std::shared_ptr<const Storage> storage, std::shared_ptr<ByteCache> cache,
                 std::shared_ptr<CacheCounts> counts)
      : storage_(std::move(storage)), cache_(std::move(cache)), counts_(std::move(counts)) {}

  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    const std::optional<FileFacts> known = facts(path);
    if (!known || known->is_folder) return storage_->open(path);  // which says what is wrong
    return open_known(path, *known);
  }

  std::unique_ptr<const InputFile> open_known(const std::string& path,
                                              const FileFacts& facts) const override {
    if (facts.changed == 0) return storage_->open_known(path, facts);
    return std::make_unique<const CachingFile>(path, facts, storage_, cache_, counts_);
  }

  std::optional<FileFacts> facts(const std::string& path) const override {
    return storage_->facts(path);
  }

  std::vector<FileEntry> list(const std::string& folder) const override {
    return storage_->list(folder);
  }

  int num_connections() const override { return storage_->num_connections(); }

 private:
  std::shared_ptr<const Storage> storage_;
  std::shared_ptr<ByteCache> cache_;
  std::shared_ptr<CacheCounts> counts_;
};

}  // namespace

std::shared_ptr<const Storage> keep_in_cache(std::shared_ptr<const Storage> storage,
                                             std::shared_ptr<ByteCache> cache,
                                             std::shared_ptr<CacheCounts> counts) {
  return std::make_shared<const CachingStorage>(std::move(storage), std::move(cache),
                                                std::move(counts));
}

}  // namespace paceline::data
