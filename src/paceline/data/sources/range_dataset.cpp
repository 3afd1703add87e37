#include "paceline/data/sources/range_dataset.h"

#include "paceline/data/storage/input_file.h"
#include "paceline/data/storage/timed_read.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::data {
namespace {

/// Files of the read-ahead: sources by their numbers, and from here on samples that are files.
constexpr std::uint64_t kFirstSampleFile = std::uint64_t{1} << 32;

}  // namespace

RangeDataset::RangeDataset(RangeIndex index, std::shared_ptr<const Storage> storage)
    : index_(std::move(index)),
      classes_(index_.classes()),
      storage_(std::move(storage)),
      files_(index_, [this](std::uint32_t source) {
        return storage_->open_known(index_.source(source).string(), index_.source_facts(source));
      }) {
  const bool is_far = index_.num_sources() > 0 && is_remote(index_.source(0));
  read_ahead_ = std::make_unique<ReadAhead>(
      [this](std::uint64_t file) {
        return file < kFirstSampleFile ? files_.at(static_cast<std::uint32_t>(file))
                                       : open(static_cast<std::int64_t>(file - kFirstSampleFile));
      },
      ReadAheadOptions{.connections = storage_->num_connections(),
                       .waits_for_slow_reads = !is_far});
}

RangeDataset::~RangeDataset() = default;

/// The file that sample `index` is in, or is.
std::shared_ptr<const InputFile> RangeDataset::open(std::int64_t index) const {
  const ByteRange range = index_.range(index);
  if (!index_.is_folder(range.source)) return files_.at(range.source);
  const std::string path = describe(index);
  if (!is_remote(path)) return storage_->open(path);
  return storage_->open_known(path, {.size = range.size});
}

void RangeDataset::get(std::int64_t index, StoredSample& sample) const {
  const ByteRange range = index_.range(index);
  sample.width = 0;
  sample.height = 0;
  sample.label = index_.label(index);
  if (read_ahead_->is_on() && read_ahead_->take(index, sample.bytes)) return;
  const TimedRead timed(read_ahead_.get());
  const std::shared_ptr<const InputFile> file = open(index);
  const bool is_file = index_.is_folder(range.source);
  sample.bytes.resize(is_file ? file->size() : range.size);
  file->read(range.offset, sample.bytes);
}

void RangeDataset::will_read(std::span<const std::int64_t> indices) const {
  if (!read_ahead_->is_on()) return;
  std::vector<ReadAheadPart> parts;
  for (const std::int64_t index : indices) {
    const ByteRange range = index_.range(index);
    const std::uint64_t file = index_.is_folder(range.source)
                                   ? kFirstSampleFile + static_cast<std::uint64_t>(index)
                                   : range.source;
    parts.push_back({.key = index, .file = file, .offset = range.offset, .size = range.size});
  }
  read_ahead_->expect(parts);
}

void RangeDataset::will_read_no_more() const { read_ahead_->forget(); }

std::string RangeDataset::describe(std::int64_t index) const {
  const ByteRange range = index_.range(index);
  const std::string source = index_.source(range.source).string();
  if (index_.is_folder(range.source)) return fmt::format("{}/{}", source, index_.name(index));
  return fmt::format("{}: {} ({} bytes at byte {})", source, index_.name(index), range.size,
                     range.offset);
}

}  // namespace paceline::data
