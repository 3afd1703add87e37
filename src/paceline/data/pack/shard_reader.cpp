#include "paceline/data/pack/shard_reader.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/storage/storage.h"

#include <cstring>
#include <utility>

namespace paceline::data {

ShardReader::ShardReader(const std::filesystem::path& path, bool stays_open)
    : path_(path.string()), file_(std::make_shared<const LocalFile>(path)) {
  size_bytes_ = file_->size();
  read_footer();
  check_tail();
  if (!stays_open) file_.reset();
}

ShardReader::ShardReader(std::shared_ptr<const InputFile> file, bool skips_cache)
    : path_(file->path()),
      size_bytes_(file->size()),
      skips_cache_(skips_cache),
      file_(std::move(file)) {
  read_footer();
  check_tail();
}

/// A view of what is read into `memory`.
std::string_view ShardReader::bytes_at(std::uint64_t offset, std::uint64_t size,
                                       std::vector<char>& memory) const {
  memory.resize(size);
  const std::span target(reinterpret_cast<std::uint8_t*>(memory.data()), memory.size());
  if (skips_cache_) {
    file_->read_once(offset, target);
  } else {
    file_->read(offset, target);
  }
  return {memory.data(), size};
}

void ShardReader::fail(std::string_view problem) const {
  throw DamagedShard(
      fmt::format("{}: damaged or incomplete shard: {}; copy or pack it again", path_, problem));
}

void ShardReader::read_footer() {
  if (size_bytes_ < sizeof(ShardHeader) + sizeof(ShardFooter)) fail("it is too small for a shard");
  std::vector<char> memory;
  const std::uint64_t footer_offset = size_bytes_ - sizeof footer_;
  std::memcpy(&footer_, bytes_at(footer_offset, sizeof footer_, memory).data(), sizeof footer_);
  ShardHeader header;
  std::memcpy(&header, bytes_at(0, sizeof header, memory).data(), sizeof header);
  if (header.magic != kShardMagic || footer_.magic != kShardMagic)
    fail("its first or last bytes are not a shard's");
  if (header.version != kShardVersion || footer_.version != kShardVersion) {
    throw base::DataError(fmt::format("{}: version {} of the packed format; this paceline reads {}",
                                      path_, header.version, kShardVersion));
  }
  if (header.plan != footer_.plan || header.number != footer_.number)
    fail("its first and last bytes are of two shards");
}

void ShardReader::check_tail() {
  const std::uint64_t end = size_bytes() - sizeof footer_;
  const std::uint64_t offset = footer_.records_offset;
  // Bounds first, one by one: none of these sums may wrap around.
  if (offset > end || offset % alignof(ShardRecord) != 0 ||
      footer_.num_samples > (end - offset) / sizeof(ShardRecord) ||
      footer_.names_size != end - offset - footer_.num_samples * sizeof(ShardRecord)) {
    fail("its index has a wrong size");
  }
  const std::string_view tail = bytes_at(offset, end - offset, tail_);
  if (base::xxh3(tail) != footer_.tail_hash) fail("its index has another checksum than noted");
  records_ = {reinterpret_cast<const ShardRecord*>(tail.data()),
              static_cast<std::size_t>(footer_.num_samples)};
  names_ = tail.substr(records_.size_bytes());
  check_records();
}

/// So that nothing has to be checked again when a sample is read.
void ShardReader::check_records() const {
  std::uint32_t name_begin = 0;
  for (const ShardRecord& record : records_) {
    const bool is_inside = record.offset >= sizeof(ShardHeader) &&
                           record.offset <= footer_.records_offset &&
                           record.size <= footer_.records_offset - record.offset;
    const bool has_name = record.name_end >= name_begin && record.name_end <= names_.size();
    if (!is_inside || !has_name || record.kind > PayloadKind::kFields)
      fail("its index contradicts itself");
    name_begin = record.name_end;
  }
}

std::string_view ShardReader::name(std::int64_t index) const {
  const std::size_t begin = index == 0 ? 0 : record(index - 1).name_end;
  return names_.substr(begin, record(index).name_end - begin);
}

std::string ShardReader::describe(std::int64_t index) const {
  return fmt::format("{}, sample {}", path_, name(index));
}

void ShardReader::read(std::int64_t index, StoredSample& sample) const {
  const ShardRecord& record = this->record(index);
  sample.bytes.resize(record.size);
  if (file_) {
    file_->read(record.offset, sample.bytes);
  } else {
    LocalFile(path_).read(record.offset, sample.bytes);
  }
  if (accept(index, sample)) return;
  if (is_remote(path_)) {  // damaged on its way?
    file_->read_once(record.offset, sample.bytes);
    if (accept(index, sample)) return;
  }
  throw base::DataError(
      fmt::format("{}: damaged: its {} bytes at {} have another checksum than noted; copy or "
                  "pack the shard again",
                  describe(index), record.size, record.offset));
}

bool ShardReader::accept(std::int64_t index, StoredSample& sample) const {
  const ShardRecord& record = this->record(index);
  const std::string_view payload(reinterpret_cast<const char*>(sample.bytes.data()),
                                 sample.bytes.size());
  if (payload.size() != record.size || base::xxh3(payload) != record.hash) return false;
  const bool is_pixels = record.kind == PayloadKind::kPixels;
  sample.width = is_pixels ? record.width : 0;
  sample.height = is_pixels ? record.height : 0;
  sample.label = record.label;
  return true;
}

}  // namespace paceline::data
