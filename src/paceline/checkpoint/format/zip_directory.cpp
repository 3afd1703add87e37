#include "paceline/checkpoint/format/zip_directory.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/format/zip_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace paceline::checkpoint {
namespace {

constexpr std::uint64_t kLocalBytes = 30;
constexpr std::uint64_t kCentralBytes = 46;
constexpr std::uint64_t kEndBytes = 22;
constexpr std::uint64_t kEnd64Bytes = 56;
constexpr std::uint64_t kEnd64LocatorBytes = 20;
constexpr std::uint64_t kMaxComment = 65535;

struct NamedEntry {
  std::string name;
  std::uint64_t header = 0;  ///< where its local header begins
  ZipEntry content;
};

class DirectoryReader {
 public:
  DirectoryReader(std::string_view file, const std::filesystem::path& path)
      : file_(file), path_(path) {}

  std::vector<NamedEntry> read() {
    find_directory();
    std::vector<NamedEntry> entries;
    for (std::uint64_t at = directory_.begin; at < directory_.end;) {
      need(at, kCentralBytes);
      if (number<std::uint32_t>(at) != kZipCentralHeader)
        fail("its directory holds something else");
      at = read_entry(at, entries);
    }
    if (entries.size() != num_entries_)
      fail(fmt::format("its directory has {} entries, its end says {}", entries.size(),
                       num_entries_));
    check_overlap(entries);
    return entries;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw base::CheckpointError(fmt::format("{}: damaged: {}", path_.string(), what));
  }

  /// Throws unless so many bytes are there.
  void need(std::uint64_t at, std::uint64_t count) const {
    if (at > file_.size() || count > file_.size() - at)
      fail(fmt::format("truncated: byte {} is needed, it has {}", at + count, file_.size()));
  }

  template <class T>
  T number(std::uint64_t at) const {
    T value;
    std::memcpy(&value, file_.data() + at, sizeof(T));
    return value;
  }

  void find_directory();
  std::optional<std::uint64_t> find_end() const;
  std::uint64_t read_entry(std::uint64_t at, std::vector<NamedEntry>& entries) const;
  void read_extra(ByteRange extra, std::uint64_t* const (&wide)[3]) const;
  ByteRange content_of(const NamedEntry& entry, std::uint64_t size) const;
  void check_overlap(const std::vector<NamedEntry>& entries) const;

  std::string_view file_;
  const std::filesystem::path& path_;
  ByteRange directory_;
  std::uint64_t num_entries_ = 0;
};

/// The record at the end, behind which only its comment stands.
std::optional<std::uint64_t> DirectoryReader::find_end() const {
  if (file_.size() < kEndBytes) return std::nullopt;
  const std::uint64_t last = file_.size() - kEndBytes;
  for (std::uint64_t comment = 0; comment <= std::min(last, kMaxComment); ++comment) {
    const std::uint64_t at = last - comment;
    if (number<std::uint32_t>(at) == kZipEnd && number<std::uint16_t>(at + 20) == comment)
      return at;
  }
  return std::nullopt;
}

void DirectoryReader::find_directory() {
  const auto end = find_end();
  if (!end)
    fail("truncated: a zip archive ends with its directory, and this has none; copy it again");
  num_entries_ = number<std::uint16_t>(*end + 10);
  std::uint64_t size = number<std::uint32_t>(*end + 12);
  std::uint64_t begin = number<std::uint32_t>(*end + 16);
  std::uint64_t limit = *end;
  if (*end >= kEnd64LocatorBytes &&
      number<std::uint32_t>(*end - kEnd64LocatorBytes) == kZipEnd64Locator) {
    limit = number<std::uint64_t>(*end - kEnd64LocatorBytes + 8);
    need(limit, kEnd64Bytes);
    if (number<std::uint32_t>(limit) != kZipEnd64)
      fail("its zip64 record is not where it should be");
    num_entries_ = number<std::uint64_t>(limit + 32);
    size = number<std::uint64_t>(limit + 40);
    begin = number<std::uint64_t>(limit + 48);
  }
  if (begin > limit || size > limit - begin)
    fail(fmt::format("its directory would have {} bytes from byte {} on", size, begin));
  directory_ = {begin, begin + size};
}

/// Adds the entry whose central header is there; returns where the next one is.
std::uint64_t DirectoryReader::read_entry(std::uint64_t at,
                                          std::vector<NamedEntry>& entries) const {
  const auto flags = number<std::uint16_t>(at + 8);
  const auto method = number<std::uint16_t>(at + 10);
  std::uint64_t stored = number<std::uint32_t>(at + 20);
  std::uint64_t size = number<std::uint32_t>(at + 24);
  const std::uint64_t name_bytes = number<std::uint16_t>(at + 28);
  const std::uint64_t extra_bytes = number<std::uint16_t>(at + 30);
  const std::uint64_t comment_bytes = number<std::uint16_t>(at + 32);
  NamedEntry entry;
  entry.header = number<std::uint32_t>(at + 42);
  const std::uint64_t name_at = at + kCentralBytes;
  const std::uint64_t next = name_at + name_bytes + extra_bytes + comment_bytes;
  if (next > directory_.end) fail("its directory is cut off");
  entry.name = file_.substr(name_at, name_bytes);
  read_extra({name_at + name_bytes, name_at + name_bytes + extra_bytes},
             {&size, &stored, &entry.header});
  entry.content.is_compressed = method != 0 || (flags & 1u) != 0;
  if (!entry.content.is_compressed && size != stored)
    fail(fmt::format("entry '{}' has {} bytes, of which {} are stored", entry.name, size, stored));
  entry.content.bytes = content_of(entry, stored);
  entries.push_back(std::move(entry));
  return next;
}

/// Of a zip64 entry: what did not fit 32 bits, in this order.
void DirectoryReader::read_extra(ByteRange extra, std::uint64_t* const (&wide)[3]) const {
  while (extra.size() >= 4) {
    const auto id = number<std::uint16_t>(extra.begin);
    std::uint64_t bytes = number<std::uint16_t>(extra.begin + 2);
    std::uint64_t at = extra.begin + 4;
    if (bytes > extra.size() - 4) fail("an extra field is cut off");
    extra.begin = at + bytes;
    if (id != kZipExtra64) continue;
    for (std::uint64_t* const value : wide) {
      if (*value != kZipSeeExtra) continue;
      if (bytes < 8) fail("a zip64 field is cut off");
      *value = number<std::uint64_t>(at);
      at += 8;
      bytes -= 8;
    }
  }
}

ByteRange DirectoryReader::content_of(const NamedEntry& entry, std::uint64_t size) const {
  need(entry.header, kLocalBytes);
  if (number<std::uint32_t>(entry.header) != kZipLocalHeader)
    fail(fmt::format("entry '{}' is not where its directory says", entry.name));
  const std::uint64_t name_bytes = number<std::uint16_t>(entry.header + 26);
  const std::uint64_t extra_bytes = number<std::uint16_t>(entry.header + 28);
  const std::uint64_t begin = entry.header + kLocalBytes + name_bytes + extra_bytes;
  if (begin > directory_.begin || size > directory_.begin - begin)
    fail(
        fmt::format("truncated: entry '{}' would have {} bytes from byte {} on, and the directory "
                    "begins at {}",
                    entry.name, size, begin, directory_.begin));
  if (file_.substr(entry.header + kLocalBytes, name_bytes) != entry.name)
    fail(fmt::format("entry '{}' has another name in its directory", entry.name));
  return {begin, begin + size};
}

void DirectoryReader::check_overlap(const std::vector<NamedEntry>& entries) const {
  std::vector<const NamedEntry*> in_order;
  for (const NamedEntry& entry : entries) in_order.push_back(&entry);
  std::ranges::sort(in_order, {}, &NamedEntry::header);
  for (std::size_t i = 1; i < in_order.size(); ++i) {
    if (in_order[i - 1]->content.bytes.end > in_order[i]->header)
      fail(fmt::format("entries '{}' and '{}' overlap", in_order[i - 1]->name, in_order[i]->name));
  }
}

}  // namespace

std::map<std::string, ZipEntry, std::less<>> read_zip_directory(std::string_view file,
                                                                const std::filesystem::path& path) {
  std::map<std::string, ZipEntry, std::less<>> result;
  for (NamedEntry& entry : DirectoryReader(file, path).read()) {
    const auto [known, is_new] = result.emplace(std::move(entry.name), entry.content);
    if (!is_new)
      throw base::CheckpointError(
          fmt::format("{}: damaged: it has two entries named '{}'", path.string(), known->first));
  }
  return result;
}

}  // namespace paceline::checkpoint
