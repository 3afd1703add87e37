#include "paceline/data/parquet/parquet_dataset.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/file_dataset.h"
#include "paceline/data/index/label_lists.h"
#include "paceline/data/index/open_sources.h"
#include "paceline/data/index/range_index.h"
#include "paceline/data/parquet/parquet_index.h"
#include "paceline/data/parquet/parquet_page_cache.h"
#include "paceline/data/remote/remote_plugin.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/storage/read_ahead.h"

#include <optional>
#include <utility>

namespace paceline::data {
namespace {

struct OpenParquetFile {
  std::shared_ptr<const InputFile> file;
  std::unique_ptr<const ParquetImages> images;
};

/// Where a sample lies: its page, and its row there.
struct PlaceInPage {
  ParquetPageCache::Key page;
  std::uint64_t size = 0;  ///< of the page
  std::int64_t first = 0;  ///< sample of the page
  std::size_t row = 0;

  /// The page's key for the read-ahead, where samples have their numbers.
  std::int64_t page_key() const { return -1 - first; }
};

class ParquetDataset final : public FileDataset {
 public:
  ParquetDataset(const ParquetSource& source, const std::shared_ptr<const Storage>& storage)
      : index_(open_parquet_index(source, storage)),
        classes_(index_.classes()),
        has_label_lists_(index_.size() > 0 && name_and_labels(index_.name(0)).labels.has_value()),
        files_(index_, [this, storage, image = source.columns.image](
                           std::uint32_t number) { return open(*storage, number, image); }),
        cache_(source.cached_bytes) {
    read_ahead_ = read_ahead_from(*storage, index_.source(0), [this](std::uint64_t file) {
      return files_.at(static_cast<std::uint32_t>(file))->file;
    });
  }

  std::int64_t size() const override { return index_.size(); }
  int num_classes() const override { return static_cast<int>(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::int64_t label(std::int64_t index) const override { return index_.label(index); }
  bool has_label_lists() const override { return has_label_lists_; }
  std::string name(std::int64_t index) const override {
    return std::string(name_and_labels(index_.name(index)).name);
  }
  std::string fingerprint() const override { return index_.fingerprint(); }

  void get(std::int64_t index, StoredSample& sample) const override {
    const PlaceInPage place = place_of(index);
    sample.width = 0;
    sample.height = 0;
    sample.label = index_.label(index);
    if (has_label_lists_) take_labels(index, sample);
    if (read_ahead_->take(index, sample.bytes)) return unpack(place, sample.bytes);
    ParquetPageCache::Found found = cache_.find(place.page);
    if (found.page == nullptr && found.places == nullptr)
      found.page = cache_.get(place.page, [&] { return decode_page(place); });
    read_ahead_->drop(place.page_key());  // another thread was faster
    if (found.page == nullptr) return read_alone(place, *found.places, sample.bytes);
    const auto& values = found.page->values;
    if (place.row >= values.size() || values[place.row].data() == nullptr)
      throw base::DataError(fmt::format("{}: has no image", describe(index)));
    sample.bytes.assign(values[place.row].begin(), values[place.row].end());
  }

  std::string describe(std::int64_t index) const override {
    const ByteRange range = index_.range(index);
    return fmt::format("{}: row {} ({})", index_.source(range.source).string(),
                       index - first_from(range.source, 0), name(index));
  }

 private:
  void take_labels(std::int64_t index, StoredSample& sample) const {
    sample.labels = name_and_labels(index_.name(index)).labels.value_or(sample.labels);
    if (sample.labels.empty()) sample.label = kNoLabel;
  }

  std::shared_ptr<const OpenParquetFile> open(const Storage& storage, std::uint32_t source,
                                              const std::string& image) const {
    std::shared_ptr<const InputFile> file =
        storage.open_known(index_.source(source).string(), index_.source_facts(source));
    auto images = load_remote_plugin().open_parquet(file, image);
    return std::make_shared<const OpenParquetFile>(
        OpenParquetFile{std::move(file), std::move(images)});
  }

  PlaceInPage place_of(std::int64_t index) const {
    const ByteRange range = index_.range(index);
    const std::int64_t first = first_from(range.source, range.offset);
    return {
        {range.source, range.offset}, range.size, first, static_cast<std::size_t>(index - first)};
  }

  ReadAhead& ahead() const override { return *read_ahead_; }

  /// Images whose places are known are fetched alone, of others the pages. Nothing if the page is
  /// in memory, or get() will say what is wrong.
  std::optional<ReadAheadPart> part_of(std::int64_t index) const override try {
    const PlaceInPage place = place_of(index);
    const auto [source, offset] = place.page;
    const ParquetPageCache::Found found = cache_.find(place.page);
    if (found.is_coming) return std::nullopt;
    if (found.places == nullptr)
      return ReadAheadPart{place.page_key(), source, offset, place.size, true};
    const ParquetStretch stretch = files_.at(source)->images->stretch_of(*found.places, place.row);
    return ReadAheadPart{index, source, stretch.offset, stretch.size};
  } catch (const base::DataError&) {
    return std::nullopt;
  }

  /// Of bytes that were fetched alone, as their places are known.
  void unpack(const PlaceInPage& place, std::vector<std::uint8_t>& bytes) const {
    const auto places = cache_.find(place.page).places;
    files_.at(place.page.first)->images->unpack(*places, place.row, bytes);
  }

  void read_alone(const PlaceInPage& place, const ParquetPlaces& places,
                  std::vector<std::uint8_t>& bytes) const {
    const auto opened = files_.at(place.page.first);
    const ParquetStretch stretch = opened->images->stretch_of(places, place.row);
    bytes.resize(stretch.size);
    {
      const TimedRead timed(*read_ahead_);
      opened->file->read(stretch.offset, bytes);
    }
    opened->images->unpack(places, place.row, bytes);
  }

  DecodedParquetPage decode_page(const PlaceInPage& place) const {
    const auto [source, offset] = place.page;
    const auto opened = files_.at(source);
    std::vector<std::uint8_t> fetched;
    if (!read_ahead_->take(place.page_key(), fetched))
      return opened->images->decode(*opened->file, offset, place.size);
    const PartlyReadFile file(*opened->file, offset, fetched);
    return opened->images->decode(file, offset, place.size);
  }

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
  bool has_label_lists_;
  mutable OpenSources<OpenParquetFile> files_;
  mutable ParquetPageCache cache_;
  std::unique_ptr<ReadAhead> read_ahead_;
};

}  // namespace

std::unique_ptr<Dataset> open_parquet(const ParquetSource& source,
                                      const std::shared_ptr<const Storage>& storage) {
  return std::make_unique<ParquetDataset>(source, storage);
}

std::unique_ptr<Dataset> open(const ParquetConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const bool is_training = split == Split::kTrain;
  ParquetSource source;
  source.folder = place_of(config.path, "parquet");
  source.files = is_training ? config.train_files : config.val_files;
  source.class_files = config.train_files;
  source.columns = {config.image_column, config.label_column};
  source.classes = config.classes;
  source.cache_name = is_training ? "parquet-train" : "parquet-val";
  return open_parquet(source, storage);
}

std::unique_ptr<DatasetPlan> make(const ParquetConfig& config) {
  return plan_of(config, photo_transforms());
}

}  // namespace paceline::data
