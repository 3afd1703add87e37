#include "paceline/data/storage/byte_cache.h"

#include "paceline/base/file_status.h"
#include "paceline/base/hash.h"
#include "paceline/base/log.h"
#include "paceline/data/storage/cache_folder.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

/// Stands before an entry's bytes.
struct EntryHeader {
  std::array<char, 8> magic{'P', 'L', 'C', 'A', 'C', 'H', 'E', '1'};
  std::uint64_t checksum = 0;  ///< of key and bytes

  friend bool operator==(const EntryHeader&, const EntryHeader&) = default;
};

EntryHeader header_of(std::string_view key, std::span<const std::uint8_t> bytes) {
  base::Xxh3Stream hash;
  hash.update(key);
  hash.update({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return {.checksum = hash.digest()};
}

/// An entry is at most one over this of its part.
constexpr std::int64_t kLeastEntriesOfPart = 4;

/// Reads header and bytes by one call; false unless the file has just their size.
bool read_entry(int descriptor, EntryHeader& header, std::span<std::uint8_t> target) {
  const auto size = static_cast<off_t>(sizeof header + target.size());
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || status.st_size != size) return false;
  const std::array parts = {iovec{&header, sizeof header}, iovec{target.data(), target.size()}};
  return readv(descriptor, parts.data(), static_cast<int>(parts.size())) == size;
}

struct Entry {
  fs::path path;
  std::int64_t size = 0;
  fs::file_time_type used;
};

/// Entries by their last use.
std::vector<Entry> list_entries(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator found(folder, error), end; !error && found != end;
       found.increment(error)) {
    if (base::is_unfinished_name(found->path().filename().string())) continue;
    std::error_code gone;  // another process may remove entries meanwhile
    Entry entry{found->path(), 0, fs::last_write_time(found->path(), gone)};
    if (!gone) entry.size = static_cast<std::int64_t>(fs::file_size(entry.path, gone));
    if (!gone) entries.push_back(std::move(entry));
  }
  if (error) throw base::FileError("list", folder, error.value());
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used < b.used; });
  return entries;
}

}  // namespace

ByteCache::ByteCache(fs::path folder, std::uint64_t max_bytes,
                     std::shared_ptr<base::FileSystem> files)
    : folder_(std::move(folder)),
      part_bytes_(static_cast<std::int64_t>(max_bytes / kParts)),
      files_(std::move(files)) {}

std::uint64_t ByteCache::least_room_for(std::uint64_t entry_bytes) {
  return (entry_bytes + sizeof(EntryHeader)) * kLeastEntriesOfPart * kParts;
}

fs::path ByteCache::folder_of(std::size_t part) const {
  return folder_ / fmt::format("{:02}", part);
}

bool ByteCache::get(std::string_view key, std::span<std::uint8_t> target) const {
  const std::string name = base::xxh3_128_hex(key);
  const fs::path path = folder_of(base::xxh3(key) % kParts) / name;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  EntryHeader header;
  const bool is_sound = read_entry(descriptor, header, target) && header == header_of(key, target);
  // Was used now. Where that is not allowed, the order of removal is not so good.
  if (is_sound) static_cast<void>(futimens(descriptor, nullptr));
  ::close(descriptor);
  return is_sound;
}

void ByteCache::put(std::string_view key, std::span<const std::uint8_t> bytes) {
  const auto size = static_cast<std::int64_t>(sizeof(EntryHeader) + bytes.size());
  if (is_broken_ || size > part_bytes_ / kLeastEntriesOfPart) return;
  const std::size_t which = base::xxh3(key) % kParts;
  const fs::path path = folder_of(which) / base::xxh3_128_hex(key);
  const fs::path unfinished = base::unfinished_path(path);
  const EntryHeader header = header_of(key, bytes);
  try {
    {
      Part& part = parts_[which];
      const std::lock_guard lock(part.mutex);
      if (part.room < size) part.room = tidy(which);
      part.room -= size;
    }
    // Not synced: a checksum tells what a crash left unfinished.
    const auto file = files_->create(unfinished);
    file->write({reinterpret_cast<const char*>(&header), sizeof header});
    file->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    file->close();
    files_->rename(unfinished, path);
  } catch (const base::FileError& error) {
    if (!is_broken_.exchange(true))
      base::log_warning("{} keeps nothing any more: {}", folder_.string(), error.what());
  }
}

std::int64_t ByteCache::tidy(std::size_t part) {
  const fs::path folder = folder_of(part);
  files_->create_directories(folder);
  remove_abandoned_files(folder, *files_);
  const std::vector<Entry> entries = list_entries(folder);
  std::int64_t total = 0;
  for (const Entry& entry : entries) total += entry.size;
  // Room for a quarter, so that the next entries need no look.
  const std::int64_t limit = part_bytes_ - part_bytes_ / 4;
  if (total > part_bytes_ - part_bytes_ / 8) {
    for (auto oldest = entries.begin(); oldest != entries.end() && total > limit; ++oldest) {
      files_->remove_all(oldest->path);
      total -= oldest->size;
    }
  }
  return (part_bytes_ - total) / 16;
}

}  // namespace paceline::data
