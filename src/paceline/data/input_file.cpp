#include "paceline/data/input_file.h"

#include "paceline/base/error.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::data {

InputFile::InputFile(const std::filesystem::path& path)
    : path_(path.string()), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const int reason = errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    throw base::DataError(fmt::format("{}: cannot open: {}", path_, std::strerror(reason)));
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw base::DataError(fmt::format("{}: is not a regular file", path_));
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::uint64_t offset, std::span<std::uint8_t> target) const {
  while (!target.empty()) {
    const ssize_t count =
        ::pread(descriptor_, target.data(), target.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw base::DataError(
          fmt::format("{}: cannot read at byte {}: {}", path_, offset, std::strerror(errno)));
    }
    if (count == 0) {
      throw base::DataError(
          fmt::format("{}: ends at byte {}, {} bytes before it should; copy it "
                      "again",
                      path_, offset, target.size()));
    }
    offset += static_cast<std::uint64_t>(count);
    target = target.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace paceline::data
