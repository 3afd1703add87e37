#include "paceline/data/index/range_index.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/hash.h"
#include "paceline/data/index/index_cache.h"
#include "paceline/data/index/range_format.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {

namespace fs = std::filesystem;

namespace {

template <class T>
std::span<const T> take_span(std::string_view bytes, std::size_t& offset, std::uint64_t count) {
  const auto* const first = reinterpret_cast<const T*>(bytes.data() + offset);
  offset += count * sizeof(T);
  return {first, static_cast<std::size_t>(count)};
}

}  // namespace

RangeIndex::RangeIndex(std::shared_ptr<const void> owner, std::string_view bytes,
                       const fs::path& file, const fs::path& root)
    : owner_(std::move(owner)), bytes_(bytes), file_(file), root_(root) {
  static_assert(sizeof(RangeSample) == 24);
  if (!has_right_sizes()) return;
  std::size_t offset = sizeof(RangeHeader);
  sources_ = take_span<RangeSource>(bytes_, offset, header().num_sources);
  checksums_ = take_span<std::uint64_t>(bytes_, offset, count_blocks(header().num_samples));
  samples_ = take_span<RangeSample>(bytes_, offset, header().num_samples);
  text_ = bytes_.substr(offset);
  is_checked_ = std::make_unique<std::atomic<bool>[]>(checksums_.size());
}

const RangeHeader& RangeIndex::header() const {
  return *reinterpret_cast<const RangeHeader*>(bytes_.data());
}

bool RangeIndex::has_right_sizes() const {
  if (bytes_.size() < sizeof(RangeHeader) || header().magic != kRangeMagic) return false;
  const std::uint64_t limit = bytes_.size();
  if (header().num_sources > limit || header().num_samples > limit || header().text_bytes > limit) {
    return false;  // keeps the sum below from overflowing
  }
  return sizeof(RangeHeader) + header().num_sources * sizeof(RangeSource) +
                 count_blocks(header().num_samples) * sizeof(std::uint64_t) +
                 header().num_samples * sizeof(RangeSample) + header().text_bytes ==
             limit &&
         header().names_offset <= header().text_bytes &&
         header().fingerprint_offset <= header().names_offset &&
         header().left_out_offset <= header().fingerprint_offset &&
         header().classes_offset <= header().left_out_offset;
}

/// Whether the head is sound and of this key.
bool RangeIndex::is_of(std::string_view key) const {
  return has_right_sizes() && header().key == base::xxh3(key) &&
         head_checksum() == header().checksum;
}

std::uint64_t RangeIndex::head_checksum() const {
  base::Xxh3Stream hash;
  hash.update(bytes_.substr(0, sizeof(RangeHeader) - sizeof(std::uint64_t)));
  hash.update(bytes_of(sources_));
  hash.update(bytes_of(checksums_));
  hash.update(text_.substr(0, header().names_offset));
  return hash.digest();
}

std::uint64_t RangeIndex::block_checksum(std::size_t block) const {
  const std::size_t first = block * kBlockSamples;
  const std::size_t count = std::min(kBlockSamples, samples_.size() - first);
  base::Xxh3Stream hash;
  hash.update(bytes_of(samples_.subspan(first, count)));
  hash.update(names_between(first, first + count));
  return hash.digest();
}

std::string_view RangeIndex::names() const { return text_.substr(header().names_offset); }

/// The names of samples [first, end) on end.
std::string_view RangeIndex::names_between(std::size_t first, std::size_t end) const {
  const std::size_t from = first == 0 ? 0 : samples_[first - 1].name_end;
  const std::size_t to = samples_[end - 1].name_end;
  if (to < from || to > names().size()) fail();
  return names().substr(from, to - from);
}

/// To touch what a mapped file has lost since would end the process.
void RangeIndex::check_mapping() const {
  if (mapping_ != nullptr && !mapping_->is_whole()) fail();
}

void RangeIndex::fail() const {
  throw base::DataError(
      fmt::format("{}: the index is damaged; remove it, it will be made anew", file_.string()));
}

void RangeIndex::check_block(std::size_t block) const {
  if (is_checked_[block].load(std::memory_order_relaxed)) return;
  if (block_checksum(block) != checksums_[block]) fail();
  is_checked_[block].store(true, std::memory_order_relaxed);
}

const RangeSample& RangeIndex::sample(std::int64_t index) const {
  const auto which = static_cast<std::size_t>(index);
  PACELINE_CHECK(index >= 0 && which < samples_.size(), "sample {} of {}", index, size());
  check_mapping();
  check_block(which / kBlockSamples);
  return samples_[which];
}

std::int64_t RangeIndex::label(std::int64_t index) const { return sample(index).label; }

ByteRange RangeIndex::range(std::int64_t index) const {
  const RangeSample& found = sample(index);
  return {is_folder(found.source) ? 0 : found.offset, found.size, found.source};
}

FileFacts RangeIndex::facts(std::int64_t index) const {
  const RangeSample& found = sample(index);
  return {.size = found.size, .changed = static_cast<std::int64_t>(found.offset)};
}

std::string_view RangeIndex::name(std::int64_t index) const {
  const auto which = static_cast<std::size_t>(index);
  sample(index);
  // A block's first name begins where the last one of the block before it ends.
  if (which > 0) check_block((which - 1) / kBlockSamples);
  return names_between(which, which + 1);
}

fs::path RangeIndex::source(std::uint32_t number) const {
  PACELINE_CHECK(number < sources_.size(), "source {} of {}", number, sources_.size());
  const fs::path path = text_.substr(sources_[number].path_offset, sources_[number].path_length);
  // A folder lies below the root, also where its name looks like a remote path: "hf:cats".
  return is_folder(number) ? root_ / path : path_in(root_, path);
}

FileFacts RangeIndex::source_facts(std::uint32_t number) const {
  const RangeSource& source = sources_[number];
  return {.is_folder = source.is_folder != 0, .size = source.size, .changed = source.changed};
}

bool RangeIndex::is_folder(std::uint32_t number) const { return sources_[number].is_folder != 0; }

std::string_view RangeIndex::head_text(std::uint64_t begin, std::uint64_t end) const {
  return text_.substr(begin, end - begin);
}

std::vector<std::string> RangeIndex::classes() const {
  std::vector<std::string> classes;
  std::string_view rest = head_text(header().classes_offset, header().left_out_offset);
  for (std::size_t end = 0; !rest.empty(); rest.remove_prefix(end + 1)) {
    end = rest.find('\0');
    classes.emplace_back(rest.substr(0, end));
  }
  return classes;
}

LeftOut RangeIndex::left_out() const {
  return {static_cast<std::int64_t>(header().num_left_out), root_.string(),
          std::string(head_text(header().left_out_offset, header().fingerprint_offset))};
}

std::string RangeIndex::fingerprint() const {
  return std::string(head_text(header().fingerprint_offset, header().names_offset));
}

bool RangeIndex::has_current_sources(const Storage& storage) const {
  std::vector<fs::path> paths;
  for (std::uint32_t i = 0; i < sources_.size(); ++i) {
    paths.push_back(source(i));
    if (is_folder(i) && is_remote(paths.back())) return false;
  }
  const auto now = facts_of_all(storage, paths);
  for (std::uint32_t i = 0; i < sources_.size(); ++i) {
    if (now[i] != source_facts(i)) return false;
  }
  return true;
}

std::optional<RangeIndex> RangeIndex::load(const fs::path& file, const fs::path& root,
                                           std::string_view key,
                                           const std::shared_ptr<const Storage>& storage) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  try {
    const auto mapping = std::make_shared<const base::MappedFile>(file);
    RangeIndex index(mapping, mapping->bytes(), file, root);
    index.mapping_ = mapping;
    if (index.is_of(key) && index.has_current_sources(*storage)) return index;
  } catch (const base::FileError&) {
    // Unreadable is as good as absent: the sources can always be listed again.
  }
  return std::nullopt;
}

std::optional<RangeIndex> RangeIndex::read(const fs::path& file, const fs::path& root,
                                           std::string_view key) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return std::nullopt;
  try {
    const auto content = std::make_shared<const std::string>(base::read_file(file));
    RangeIndex index(content, *content, file, root);
    if (!index.is_of(key)) return std::nullopt;
    for (std::size_t block = 0; block < index.checksums_.size(); ++block) index.check_block(block);
    return index;
  } catch (const base::Error&) {  // unreadable or damaged
    return std::nullopt;
  }
}

bool RangeIndex::save(const fs::path& file) const { return save_index(file, bytes_); }

bool RangeIndex::is_stable() const {
  const std::int64_t limit = stable_before();
  return std::all_of(sources_.begin(), sources_.end(),
                     [&](const RangeSource& source) { return source.changed < limit; });
}

}  // namespace paceline::data
