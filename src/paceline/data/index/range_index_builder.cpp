#include "paceline/data/index/range_index_builder.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/index/range_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLimit = std::numeric_limits<std::uint32_t>::max();

}  // namespace

struct RangeIndexBuilder::Content {
  fs::path root;
  std::shared_ptr<const Storage> storage;
  RangeHeader header;
  std::vector<RangeSource> sources;
  std::vector<RangeSample> samples;
  std::string head_text;
  std::string names;
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

std::uint32_t RangeIndexBuilder::add_source(const fs::path& path, const FileFacts& facts) {
  const std::string text = path.string();
  content_->sources.push_back({facts.size, facts.changed, content_->head_text.size(),
                               static_cast<std::uint32_t>(text.size()), facts.is_folder});
  content_->head_text += text;
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
    add_source(paths[i], *facts[i]);
  }
}

void RangeIndexBuilder::add(std::uint32_t source, std::uint64_t offset, std::uint64_t size,
                            std::int64_t label, std::string_view name) {
  if (size > kLimit)
    throw base::DataError(
        fmt::format("{}: of {} bytes; samples are smaller than 4 GiB", name, size));
  append(source, offset, static_cast<std::uint32_t>(size), label, name);
}

void RangeIndexBuilder::add_file(std::uint32_t source, const FileFacts& facts, std::int64_t label,
                                 std::string_view name) {
  append(source, static_cast<std::uint64_t>(facts.changed),
         static_cast<std::uint32_t>(std::min(facts.size, kLimit)), label, name);
}

void RangeIndexBuilder::append(std::uint32_t source, std::uint64_t offset, std::uint32_t size,
                               std::int64_t label, std::string_view name) {
  std::string& names = content_->names;
  if (names.size() + name.size() > kLimit)
    throw base::DataError(fmt::format("{}: the names of all samples are 4 GiB and more", name));
  PACELINE_CHECK(label >= 0 && static_cast<std::uint64_t>(label) <= kLimit, "label {}", label);
  names += name;
  content_->samples.push_back({offset, size, source, static_cast<std::uint32_t>(label),
                               static_cast<std::uint32_t>(names.size())});
}

/// Runs compare it with what they have saved: its text must stay what it is.
std::string RangeIndexBuilder::usual_fingerprint(std::string_view classes) const {
  base::Xxh3Stream hash;
  std::size_t name_begin = 0;
  for (const RangeSample& sample : content_->samples) {
    const std::string_view name =
        std::string_view(content_->names).substr(name_begin, sample.name_end - name_begin);
    hash.update(fmt::format("{}\n{} {}\n", name, sample.size, sample.label));
    name_begin = sample.name_end;
  }
  hash.update(classes);
  return fmt::format("ranges:{}:{:016x}", size(), hash.digest());
}

RangeIndex RangeIndexBuilder::finish(const std::vector<std::string>& classes,
                                     const LeftOut& left_out, std::string fingerprint) {
  Content& content = *content_;
  RangeHeader& header = content.header;
  header.classes_offset = content.head_text.size();
  for (const std::string& name : classes) content.head_text.append(name).push_back('\0');
  if (fingerprint.empty())
    fingerprint =
        usual_fingerprint(std::string_view(content.head_text).substr(header.classes_offset));
  header.left_out_offset = content.head_text.size();
  content.head_text += left_out.first;
  header.fingerprint_offset = content.head_text.size();
  content.head_text += fingerprint;
  header.names_offset = content.head_text.size();
  header.num_left_out = static_cast<std::uint64_t>(left_out.count);
  header.num_sources = content.sources.size();
  header.num_samples = content.samples.size();
  header.text_bytes = content.head_text.size() + content.names.size();
  return lay_out();
}

/// The index of what was collected, as it is written to a file.
RangeIndex RangeIndexBuilder::lay_out() {
  Content& content = *content_;
  RangeHeader& header = content.header;
  auto bytes = std::make_shared<std::string>();
  bytes->reserve(sizeof header + content.sources.size() * sizeof(RangeSource) +
                 count_blocks(content.samples.size()) * sizeof(std::uint64_t) +
                 content.samples.size() * sizeof(RangeSample) + header.text_bytes);
  const std::vector<std::uint64_t> no_checksums(count_blocks(content.samples.size()));
  for (const std::string_view part :
       {bytes_of(std::span<const RangeHeader>(&header, 1)),
        bytes_of(std::span<const RangeSource>(content.sources)),
        bytes_of(std::span<const std::uint64_t>(no_checksums)),
        bytes_of(std::span<const RangeSample>(content.samples)),
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
