#include "paceline/data/index/range_index.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/hash.h"
#include "paceline/data/index/index_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {

namespace fs = std::filesystem;

// The file: header, sources, checksums of blocks, samples, text (source paths and class names, then
// the samples' names on end).
struct RangeIndex::Header {
  std::array<char, 8> magic{};
  std::uint64_t key = 0;
  std::uint64_t num_sources = 0;
  std::uint64_t num_samples = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t classes_offset = 0;  ///< in the text: class names, each followed by '\0'
  std::uint64_t names_offset = 0;    ///< in the text
  std::uint64_t fingerprint = 0;
  std::uint64_t checksum = 0;  ///< of all but the samples and their names; stands last here
};

struct RangeIndex::Source {
  std::uint64_t size = 0;  ///< 0 of a folder
  std::int64_t changed = 0;
  std::uint64_t path_offset = 0;
  std::uint32_t path_length = 0;
  std::uint32_t is_folder = 0;
};

struct RangeIndex::Sample {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t source = 0;
  std::uint32_t label = 0;
  std::uint32_t name_end = 0;  ///< in the names; where the next one begins
};

namespace {

constexpr std::array<char, 8> kRangeMagic = {'P', 'L', 'R', 'A', 'N', 'G', 'E', '2'};
constexpr std::size_t kBlockSamples = 1024;

std::size_t count_blocks(std::size_t num_samples) {
  return (num_samples + kBlockSamples - 1) / kBlockSamples;
}

template <class T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

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
  static_assert(sizeof(Sample) == 24);
  if (!has_right_sizes()) return;
  std::size_t offset = sizeof(Header);
  sources_ = take_span<Source>(bytes_, offset, header().num_sources);
  checksums_ = take_span<std::uint64_t>(bytes_, offset, count_blocks(header().num_samples));
  samples_ = take_span<Sample>(bytes_, offset, header().num_samples);
  text_ = bytes_.substr(offset);
  is_checked_ = std::make_unique<std::atomic<bool>[]>(checksums_.size());
}

const RangeIndex::Header& RangeIndex::header() const {
  return *reinterpret_cast<const Header*>(bytes_.data());
}

bool RangeIndex::has_right_sizes() const {
  if (bytes_.size() < sizeof(Header) || header().magic != kRangeMagic) return false;
  const std::uint64_t limit = bytes_.size();
  if (header().num_sources > limit || header().num_samples > limit || header().text_bytes > limit) {
    return false;  // keeps the sum below from overflowing
  }
  return sizeof(Header) + header().num_sources * sizeof(Source) +
                 count_blocks(header().num_samples) * sizeof(std::uint64_t) +
                 header().num_samples * sizeof(Sample) + header().text_bytes ==
             limit &&
         header().names_offset <= header().text_bytes &&
         header().classes_offset <= header().names_offset;
}

std::uint64_t RangeIndex::head_checksum() const {
  base::Xxh3Stream hash;
  hash.update(bytes_.substr(0, sizeof(Header) - sizeof(std::uint64_t)));
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

const RangeIndex::Sample& RangeIndex::sample(std::int64_t index) const {
  const auto which = static_cast<std::size_t>(index);
  PACELINE_CHECK(index >= 0 && which < samples_.size(), "sample {} of {}", index, size());
  check_mapping();
  check_block(which / kBlockSamples);
  return samples_[which];
}

std::int64_t RangeIndex::label(std::int64_t index) const { return sample(index).label; }

ByteRange RangeIndex::range(std::int64_t index) const {
  const Sample& found = sample(index);
  return {found.offset, found.size, found.source};
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
  return path_in(root_, text_.substr(sources_[number].path_offset, sources_[number].path_length));
}

FileFacts RangeIndex::source_facts(std::uint32_t number) const {
  const Source& source = sources_[number];
  return {.is_folder = source.is_folder != 0, .size = source.size, .changed = source.changed};
}

bool RangeIndex::is_folder(std::uint32_t number) const { return sources_[number].is_folder != 0; }

std::vector<std::string> RangeIndex::classes() const {
  std::vector<std::string> classes;
  std::string_view rest =
      text_.substr(header().classes_offset, header().names_offset - header().classes_offset);
  for (std::size_t end = 0; !rest.empty(); rest.remove_prefix(end + 1)) {
    end = rest.find('\0');
    classes.emplace_back(rest.substr(0, end));
  }
  return classes;
}

std::string RangeIndex::fingerprint() const {
  return fmt::format("ranges:{}:{:016x}", size(), header().fingerprint);
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
    if (index.has_right_sizes() && index.header().key == base::xxh3(key) &&
        index.head_checksum() == index.header().checksum && index.has_current_sources(*storage)) {
      return index;
    }
  } catch (const base::FileError&) {
    // Unreadable is as good as absent: the sources can always be listed again.
  }
  return std::nullopt;
}

bool RangeIndex::save(const fs::path& file) const { return save_index(file, bytes_); }

bool RangeIndex::is_settled() const {
  const std::int64_t limit = settled_before();
  return std::all_of(sources_.begin(), sources_.end(),
                     [&](const Source& source) { return source.changed < limit; });
}

struct RangeIndexBuilder::Content {
  fs::path root;
  std::shared_ptr<const Storage> storage;
  RangeIndex::Header header;
  std::vector<RangeIndex::Source> sources;
  std::vector<RangeIndex::Sample> samples;
  std::string head_text;
  std::string names;
  base::Xxh3Stream fingerprint;
};

RangeIndexBuilder::RangeIndexBuilder(const fs::path& root, std::string_view key,
                                     std::shared_ptr<const Storage> storage)
    : content_(std::make_unique<Content>()) {
  content_->root = root;
  content_->storage = std::move(storage);
  content_->header.magic = kRangeMagic;
  content_->header.key = base::xxh3(key);
}

RangeIndexBuilder::RangeIndexBuilder(RangeIndexBuilder&&) noexcept = default;
RangeIndexBuilder::~RangeIndexBuilder() = default;

std::int64_t RangeIndexBuilder::size() const {
  return static_cast<std::int64_t>(content_->samples.size());
}

std::uint32_t RangeIndexBuilder::add_source(const fs::path& path) {
  add_sources({path});
  return static_cast<std::uint32_t>(content_->sources.size() - 1);
}

void RangeIndexBuilder::add_sources(const std::vector<fs::path>& paths) {
  std::vector<fs::path> places;
  places.reserve(paths.size());
  for (const fs::path& path : paths) places.push_back(path_in(content_->root, path));
  const auto facts = facts_of_all(*content_->storage, places);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!facts[i])
      throw base::DataError(fmt::format("{}: no such file or folder", places[i].string()));
    const std::string text = paths[i].string();
    content_->sources.push_back({facts[i]->size, facts[i]->changed, content_->head_text.size(),
                                 static_cast<std::uint32_t>(text.size()), facts[i]->is_folder});
    content_->head_text += text;
  }
}

void RangeIndexBuilder::add(std::uint32_t source, std::uint64_t offset, std::uint64_t size,
                            std::int64_t label, std::string_view name) {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::uint32_t>::max();
  std::string& names = content_->names;
  if (size > kLimit || names.size() + name.size() > kLimit) {
    throw base::DataError(fmt::format(
        "{}: of {} bytes; samples are smaller than 4 GiB, and all names together too", name, size));
  }
  PACELINE_CHECK(label >= 0 && static_cast<std::uint64_t>(label) <= kLimit, "label {}", label);
  names += name;
  content_->samples.push_back({offset, static_cast<std::uint32_t>(size), source,
                               static_cast<std::uint32_t>(label),
                               static_cast<std::uint32_t>(names.size())});
  content_->fingerprint.update(fmt::format("{}\n{} {}\n", name, size, label));
}

RangeIndex RangeIndexBuilder::finish(const std::vector<std::string>& classes) {
  Content& content = *content_;
  RangeIndex::Header& header = content.header;
  header.classes_offset = content.head_text.size();
  for (const std::string& name : classes) content.head_text.append(name).push_back('\0');
  header.names_offset = content.head_text.size();
  header.num_sources = content.sources.size();
  header.num_samples = content.samples.size();
  header.text_bytes = content.head_text.size() + content.names.size();
  content.fingerprint.update(std::string_view(content.head_text).substr(header.classes_offset));
  header.fingerprint = content.fingerprint.digest();

  auto bytes = std::make_shared<std::string>();
  const std::vector<std::uint64_t> no_checksums(count_blocks(content.samples.size()));
  for (const std::string_view part :
       {bytes_of(std::span<const RangeIndex::Header>(&header, 1)),
        bytes_of(std::span<const RangeIndex::Source>(content.sources)),
        bytes_of(std::span<const std::uint64_t>(no_checksums)),
        bytes_of(std::span<const RangeIndex::Sample>(content.samples)),
        std::string_view(content.head_text), std::string_view(content.names)}) {
    bytes->append(part);
  }
  RangeIndex index(bytes, *bytes, "the index in memory", content.root);
  for (std::size_t block = 0; block < no_checksums.size(); ++block) {
    const std::uint64_t checksum = index.block_checksum(block);
    std::memcpy(bytes->data() + (bytes_of(index.checksums_).data() - bytes->data()) +
                    block * sizeof checksum,
                &checksum, sizeof checksum);
  }
  header.checksum = index.head_checksum();
  std::memcpy(bytes->data(), &header, sizeof header);
  return index;
}

}  // namespace paceline::data
