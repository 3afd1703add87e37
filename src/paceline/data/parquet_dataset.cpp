#include "paceline/data/parquet_dataset.h"

#include "paceline/base/error.h"
#include "paceline/data/parquet_index.h"
#include "paceline/data/parquet_page_cache.h"
#include "paceline/data/range_index.h"
#include "paceline/data/remote_plugin.h"

#include <mutex>
#include <utility>

namespace paceline::data {
namespace {

/// The files, opened when they are first read. A process may often have no more than 1,024 open.
class OpenParquetFiles {
 public:
  OpenParquetFiles(const RangeIndex& index, std::string image,
                   std::shared_ptr<const Storage> storage)
      : index_(index),
        image_(std::move(image)),
        storage_(std::move(storage)),
        files_(static_cast<std::size_t>(index.num_sources())) {}

  std::shared_ptr<const ParquetImages> at(std::uint32_t source) {
    {
      const std::lock_guard lock(mutex_);
      if (files_.at(source) != nullptr) return files_[source];
    }
    std::shared_ptr<const ParquetImages> opened = load_remote_plugin().open_parquet(
        storage_->open_known(index_.source(source).string(), index_.source_facts(source)), image_);
    const std::lock_guard lock(mutex_);
    if (files_[source] == nullptr && num_kept_ < kMaxKept) {
      files_[source] = opened;
      ++num_kept_;
    }
    return opened;
  }

 private:
  static constexpr int kMaxKept = 400;
  const RangeIndex& index_;
  std::string image_;
  std::shared_ptr<const Storage> storage_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const ParquetImages>> files_;
  int num_kept_ = 0;
};

class ParquetDataset final : public Dataset {
 public:
  ParquetDataset(const ParquetSource& source, const std::shared_ptr<const Storage>& storage)
      : index_(open_parquet_index(source, storage)),
        classes_(index_.classes()),
        files_(index_, source.columns.image, storage),
        cache_(source.cached_bytes) {}

  std::int64_t size() const override { return index_.size(); }
  int num_classes() const override { return static_cast<int>(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::int64_t label(std::int64_t index) const override { return index_.label(index); }
  std::string name(std::int64_t index) const override { return std::string(index_.name(index)); }
  std::string fingerprint() const override { return index_.fingerprint(); }

  void get(std::int64_t index, StoredSample& sample) const override {
    const ByteRange range = index_.range(index);
    const auto row = static_cast<std::size_t>(index - first_from(range.source, range.offset));
    sample.width = 0;
    sample.height = 0;
    sample.label = index_.label(index);
    const ParquetPageCache::Key key{range.source, range.offset};
    ParquetPageCache::Found found = cache_.find(key);
    if (found.page == nullptr && found.places != nullptr)
      return files_.at(range.source)->read(*found.places, row, sample.bytes);
    if (found.page == nullptr) {
      found.page = cache_.get(
          key, [&] { return files_.at(range.source)->decode(range.offset, range.size); });
    }
    if (row >= found.page->values.size() || found.page->values[row].data() == nullptr)
      throw base::DataError(fmt::format("{}: has no image", describe(index)));
    sample.bytes.assign(found.page->values[row].begin(), found.page->values[row].end());
  }

  std::string describe(std::int64_t index) const override {
    const ByteRange range = index_.range(index);
    return fmt::format("{}: row {} ({})", index_.source(range.source).string(),
                       index - first_from(range.source, 0), index_.name(index));
  }

 private:
  /// The first sample that lies in a page of `source` at `offset` or behind.
  std::int64_t first_from(std::uint32_t source, std::uint64_t offset) const {
    std::int64_t first = 0;
    std::int64_t end = size();
    while (first < end) {
      const std::int64_t middle = first + (end - first) / 2;
      const ByteRange range = index_.range(middle);
      const bool is_before = std::pair(range.source, range.offset) < std::pair(source, offset);
      (is_before ? first : end) = is_before ? middle + 1 : middle;
    }
    return first;
  }

  RangeIndex index_;
  std::vector<std::string> classes_;
  mutable OpenParquetFiles files_;
  mutable ParquetPageCache cache_;
};

}  // namespace

std::unique_ptr<Dataset> open_parquet(const ParquetSource& source,
                                      const std::shared_ptr<const Storage>& storage) {
  return std::make_unique<ParquetDataset>(source, storage);
}

}  // namespace paceline::data
