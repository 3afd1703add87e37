#include "paceline/data/sources/range_dataset.h"

#include "paceline/data/storage/input_file.h"

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
  const std::filesystem::path place = index_.num_sources() > 0 ? index_.source(0) : "";
  read_ahead_ = read_ahead_from(*storage_, place, [this](std::uint64_t file) {
    if (file < kFirstSampleFile) return files_.at(static_cast<std::uint32_t>(file));
    const auto sample = static_cast<std::int64_t>(file - kFirstSampleFile);
    return open(sample, index_.range(sample).source);
  });
}

RangeDataset::~RangeDataset() = default;

/// The path of a sample that is a whole file.
std::string RangeDataset::path_of(std::int64_t index, std::uint32_t source) const {
  return index_.source(source).string().append("/").append(index_.name(index));
}

/// The file that sample `index` of `source` is in, or is.
std::shared_ptr<const InputFile> RangeDataset::open(std::int64_t index,
                                                    std::uint32_t source) const {
  if (!index_.is_folder(source)) return files_.at(source);
  const std::string path = path_of(index, source);
  return is_remote(path) ? storage_->open_known(path, index_.facts(index)) : storage_->open(path);
}

void RangeDataset::get(std::int64_t index, StoredSample& sample) const {
  const ByteRange range = index_.range(index);
  sample.width = 0;
  sample.height = 0;
  sample.label = index_.label(index);
  if (read_ahead_->take(index, sample.bytes)) return;
  const TimedRead timed(*read_ahead_);
  const std::shared_ptr<const InputFile> file = open(index, range.source);
  const bool is_file = index_.is_folder(range.source);
  sample.bytes.resize(is_file ? file->size() : range.size);
  file->read(range.offset, sample.bytes);
}

std::optional<ReadAheadPart> RangeDataset::part_of(std::int64_t index) const {
  const ByteRange range = index_.range(index);
  if (!index_.is_folder(range.source))
    return ReadAheadPart{
        .key = index, .file = range.source, .offset = range.offset, .size = range.size};
  ReadAheadPart part{.key = index, .file = kFirstSampleFile + static_cast<std::uint64_t>(index)};
  // A file of this machine may have another size by now.
  part.is_whole_file = !is_remote(index_.source(range.source));
  if (!part.is_whole_file) part.size = range.size;
  return part;
}

std::string RangeDataset::describe(std::int64_t index) const {
  const ByteRange range = index_.range(index);
  if (index_.is_folder(range.source)) return path_of(index, range.source);
  return fmt::format("{}: {} ({} bytes at byte {})", index_.source(range.source).string(),
                     index_.name(index), range.size, range.offset);
}

}  // namespace paceline::data
