#include "paceline/data/storage/input_file.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::data {

void PartlyReadFile::read(std::uint64_t offset, std::span<std::uint8_t> target) const {
  const std::uint64_t end = offset + target.size();
  if (offset < offset_ || end > offset_ + bytes_.size()) return file_.read(offset, target);
  std::ranges::copy(bytes_.subspan(offset - offset_, target.size()), target.begin());
}

void read_in_pieces(const InputFile& file, std::uint64_t offset, std::span<std::uint8_t> target,
                    std::uint64_t piece_bytes, int num_at_once) {
  const std::uint64_t num_pieces = (target.size() + piece_bytes - 1) / piece_bytes;
  base::parallel_for(static_cast<std::int64_t>(num_pieces), num_at_once, [&](std::int64_t piece) {
    const std::uint64_t at = static_cast<std::uint64_t>(piece) * piece_bytes;
    file.read_once(offset + at, target.subspan(at, std::min(piece_bytes, target.size() - at)));
  });
}

LocalFile::Opened LocalFile::open(const std::filesystem::path& path) {
  // A pipe without a writer must not be waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) {
    const int reason = errno;
    if (descriptor >= 0) ::close(descriptor);
    throw base::DataError(fmt::format("{}: cannot open: {}", path.string(), std::strerror(reason)));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw base::DataError(fmt::format("{}: is not a regular file", path.string()));
  }
  return {descriptor, static_cast<std::uint64_t>(status.st_size)};
}

LocalFile::LocalFile(const std::filesystem::path& path) : LocalFile(path, open(path)) {}

LocalFile::LocalFile(const std::filesystem::path& path, Opened opened)
    : InputFile(path.string(), opened.size), descriptor_(opened.descriptor) {}

LocalFile::LocalFile(LocalFile&& other) noexcept
    : InputFile(std::move(other)), descriptor_(std::exchange(other.descriptor_, -1)) {}

LocalFile::~LocalFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LocalFile::read(std::uint64_t offset, std::span<std::uint8_t> target) const {
  while (!target.empty()) {
    const ssize_t count =
        ::pread(descriptor_, target.data(), target.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw base::DataError(
          fmt::format("{}: cannot read at byte {}: {}", path(), offset, std::strerror(errno)));
    }
    if (count == 0) {
      throw base::DataError(
          fmt::format("{}: ends at byte {}, {} bytes before it should; copy it "
                      "again",
                      path(), offset, target.size()));
    }
    offset += static_cast<std::uint64_t>(count);
    target = target.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace paceline::data
