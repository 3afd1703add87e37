#include "paceline/data/archive_reader.h"

#include "paceline/base/error.h"

#include <memory>

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr std::size_t kBlockBytes = 1 << 20;

struct FreeArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

class ArchiveReader {
 public:
  explicit ArchiveReader(const std::filesystem::path& path)
      : path_(path), reader_(archive_read_new()) {
    if (!reader_) throw base::InternalError("libarchive gives no reader");
    archive_read_support_filter_all(reader_.get());
    archive_read_support_format_all(reader_.get());
    check(archive_read_open_filename(reader_.get(), path.c_str(), kBlockBytes));
  }

  /// The next member's path; empty at the end.
  std::string next_member() {
    archive_entry* entry = nullptr;
    const int status = archive_read_next_header(reader_.get(), &entry);
    if (status == ARCHIVE_EOF) return {};
    check(status);
    const char* const name = archive_entry_pathname(entry);
    return name == nullptr ? "?" : name;
  }

  std::vector<std::uint8_t> read_member() {
    std::vector<std::uint8_t> bytes;
    while (true) {
      const std::size_t done = bytes.size();
      bytes.resize(done + kBlockBytes);
      const la_ssize_t count = archive_read_data(reader_.get(), bytes.data() + done, kBlockBytes);
      if (count < 0) check(static_cast<int>(count));
      bytes.resize(done + static_cast<std::size_t>(count));
      if (count == 0) return bytes;
    }
  }

 private:
  void check(int status) const {
    if (status == ARCHIVE_OK || status == ARCHIVE_WARN) return;
    const char* const reason = archive_error_string(reader_.get());
    throw base::DataError(fmt::format("{}: the archive cannot be read: {}; fetch it again",
                                      path_.string(), reason == nullptr ? "damaged" : reason));
  }

  std::filesystem::path path_;
  std::unique_ptr<archive, FreeArchive> reader_;
};

}  // namespace

std::map<std::string, std::vector<std::uint8_t>> read_archive_members(
    const std::filesystem::path& path, const std::set<std::string>& names) {
  ArchiveReader reader(path);
  std::map<std::string, std::vector<std::uint8_t>> members;
  while (members.size() < names.size()) {
    const std::string member = reader.next_member();
    if (member.empty()) break;
    const std::string name = std::filesystem::path(member).filename().string();
    if (names.contains(name)) members[name] = reader.read_member();
  }
  return members;
}

}  // namespace paceline::data
