#include "paceline/data/pack/shard_writer.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"

#include <limits>

#include <unistd.h>

namespace paceline::data {
namespace {

constexpr std::size_t kWriteBytes = std::size_t{4} << 20;

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

template <class To>
To fitting(std::int64_t value, std::string_view what, std::string_view name) {
  if (value < 0 || value > std::int64_t{std::numeric_limits<To>::max()}) {
    throw base::DataError(fmt::format("{}: {} is {}; the packed format has room for 0 to {}", name,
                                      what, value, std::numeric_limits<To>::max()));
  }
  return static_cast<To>(value);
}

}  // namespace

ShardWriter::ShardWriter(base::FileSystem& files, const std::filesystem::path& path,
                         std::uint32_t number, std::uint64_t plan)
    : files_(files),
      path_(path),
      partial_(fmt::format("{}.partial-{}", path.string(), ::getpid())),
      file_(files.create(partial_)) {
  footer_.number = number;
  footer_.plan = plan;
  ShardHeader header;
  header.number = number;
  header.plan = plan;
  write(bytes_of(header));
}

ShardWriter::~ShardWriter() {
  if (!file_) return;
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

/// Gathers small pieces into large writes.
void ShardWriter::write(std::string_view bytes) {
  buffer_ += bytes;
  position_ += bytes.size();
  if (buffer_.size() < kWriteBytes) return;
  file_->write(buffer_);
  buffer_.clear();
}

void ShardWriter::add(const PackedSample& sample) {
  const std::string_view payload(reinterpret_cast<const char*>(sample.payload.data()),
                                 sample.payload.size());
  ShardRecord record;
  record.offset = position_;
  record.hash = base::xxh3(payload);
  record.size = fitting<std::uint32_t>(std::ssize(payload), "the size in bytes", sample.name);
  record.label = fitting<std::uint32_t>(sample.label, "the label", sample.name);
  record.width = fitting<std::uint16_t>(sample.size.width, "the width", sample.name);
  record.height = fitting<std::uint16_t>(sample.size.height, "the height", sample.name);
  record.kind = sample.kind;
  names_ += sample.name;
  record.name_end = fitting<std::uint32_t>(std::ssize(names_), "the names' length", sample.name);
  write(payload);
  records_.push_back(record);
}

void ShardWriter::finish() {
  write(std::string((8 - position_ % 8) % 8, '\0'));
  footer_.num_samples = records_.size();
  footer_.records_offset = position_;
  footer_.names_size = names_.size();
  const std::string_view records(reinterpret_cast<const char*>(records_.data()),
                                 records_.size() * sizeof(ShardRecord));
  base::Xxh3Stream hash;
  hash.update(records);
  hash.update(names_);
  footer_.tail_hash = hash.digest();
  write(records);
  write(names_);
  write(bytes_of(footer_));
  file_->write(buffer_);
  buffer_.clear();
  file_->sync();
  file_->close();
  file_.reset();
  files_.rename(partial_, path_);
  files_.sync_directory(path_.parent_path());
}

}  // namespace paceline::data
