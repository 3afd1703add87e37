#include "paceline/data/formats/archive_reader.h"

#include "paceline/base/error.h"
#include "paceline/data/storage/input_file.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

enum class MemberKind { kFile, kFolder, kOther };

struct Member {
  std::string path;
  MemberKind kind;
};

class ArchiveReader {
 public:
  explicit ArchiveReader(const std::filesystem::path& path) : ArchiveReader(path.string()) {
    const LocalFile is_regular(path);  // or libarchive might wait for a pipe's writer
    check(archive_read_open_filename(reader_.get(), path.c_str(), kBlockBytes));
  }

  /// Of bytes that outlive it.
  ArchiveReader(std::string_view bytes, const std::string& name) : ArchiveReader(name) {
    check(archive_read_open_memory(reader_.get(), bytes.data(), bytes.size()));
  }

  /// Nothing at the end.
  std::optional<Member> next_member() {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader_.get(), &entry);
    if (status == ARCHIVE_EOF) return std::nullopt;
    check(status);
    const char* const name = archive_entry_pathname(entry);
    return Member{name == nullptr ? "?" : name, kind_of(entry)};
  }

  /// The next bytes of the member, as many as there are and fit; 0 at its end.
  std::size_t read_some(std::span<std::uint8_t> target) {
    const la_ssize_t count = archive_read_data(reader_.get(), target.data(), target.size());
    if (count < 0) check(static_cast<int>(count));
    return static_cast<std::size_t>(count);
  }

  std::vector<std::uint8_t> read_member(const std::string& name, std::size_t max_bytes) {
    std::vector<std::uint8_t> bytes;
    while (true) {
      const std::size_t done = bytes.size();
      if (done > max_bytes) {
        throw base::DataError(fmt::format(
            "{}: '{}' in it has more than the {} bytes that such a file may have; fetch it again",
            name_, name, max_bytes));
      }
      bytes.resize(done + kBlockBytes);
      const std::size_t count = read_some({bytes.data() + done, kBlockBytes});
      bytes.resize(done + count);
      if (count == 0) return bytes;
    }
  }

 private:
  /// `name` is for messages.
  explicit ArchiveReader(std::string name) : name_(std::move(name)), reader_(archive_read_new()) {
    if (!reader_) throw base::InternalError("libarchive gives no reader");
    archive_read_support_filter_all(reader_.get());
    archive_read_support_format_all(reader_.get());
  }

  static MemberKind kind_of(archive_entry* entry) {
    if (archive_entry_hardlink(entry) != nullptr) return MemberKind::kOther;
    if (archive_entry_filetype(entry) == AE_IFDIR) return MemberKind::kFolder;
    return archive_entry_filetype(entry) == AE_IFREG ? MemberKind::kFile : MemberKind::kOther;
  }

  void check(int status) const {
    if (status == ARCHIVE_OK || status == ARCHIVE_WARN) return;
    const char* const reason = archive_error_string(reader_.get());
    throw base::DataError(fmt::format("{}: the archive cannot be read: {}; fetch it again", name_,
                                      reason == nullptr ? "damaged" : reason));
  }

  std::string name_;
  std::unique_ptr<archive, FreeArchive> reader_;
};

std::map<std::string, std::vector<std::uint8_t>> members_of(ArchiveReader& reader,
                                                            const std::set<std::string>& names,
                                                            std::size_t max_bytes) {
  std::map<std::string, std::vector<std::uint8_t>> members;
  while (members.size() < names.size()) {
    const std::optional<Member> member = reader.next_member();
    if (!member) break;
    const std::string name = std::filesystem::path(member->path).filename().string();
    if (names.contains(name)) members[name] = reader.read_member(member->path, max_bytes);
  }
  return members;
}

/// Throws unless a member can be unpacked and stays in its folder.
void require_harmless(const std::filesystem::path& archive, const Member& member) {
  const std::filesystem::path path = member.path;
  const bool leaves = path.is_absolute() || std::ranges::find(path, "..") != path.end();
  if (!leaves && member.kind != MemberKind::kOther) return;
  throw base::DataError(fmt::format(
      "{}: '{}' in it {}; nothing more was unpacked", archive.string(), member.path,
      leaves ? "leads out of the folder to unpack into" : "is neither a file nor a folder"));
}

}  // namespace

std::map<std::string, std::vector<std::uint8_t>> read_archive_members(
    const std::filesystem::path& path, const std::set<std::string>& names, std::size_t max_bytes) {
  ArchiveReader reader(path);
  return members_of(reader, names, max_bytes);
}

std::map<std::string, std::vector<std::uint8_t>> read_archive_members(
    std::string_view archive, const std::string& name, const std::set<std::string>& names,
    std::size_t max_bytes) {
  ArchiveReader reader(archive, name);
  return members_of(reader, names, max_bytes);
}

void unpack_archive(const std::filesystem::path& path, const std::filesystem::path& folder,
                    base::FileSystem& files, const std::function<void(std::int64_t done)>& progress,
                    std::uint64_t harmless_bytes) {
  ArchiveReader reader(path);
  // Images hardly shrink in an archive: far more than its size is no data set.
  const std::uint64_t most =
      std::max<std::uint64_t>(harmless_bytes, 100 * std::filesystem::file_size(path));
  std::uint64_t unpacked = 0;
  files.create_directories(folder);
  std::vector<std::uint8_t> block(kBlockBytes);
  std::int64_t done = 0;
  while (const std::optional<Member> member = reader.next_member()) {
    require_harmless(path, *member);
    const std::filesystem::path target = folder / member->path;
    if (member->kind == MemberKind::kFolder) {
      files.create_directories(target);
    } else {
      files.create_directories(target.parent_path());
      const auto file = files.create(target);
      while (const std::size_t count = reader.read_some(block)) {
        unpacked += count;
        if (unpacked > most) {
          throw base::DataError(
              fmt::format("{}: '{}' in it makes it {} bytes and more, a hundred times its size; "
                          "nothing more was unpacked: fetch it again",
                          path.string(), member->path, unpacked));
        }
        file->write({reinterpret_cast<const char*>(block.data()), count});
      }
      file->close();
    }
    if (progress) progress(++done);
  }
}

}  // namespace paceline::data
