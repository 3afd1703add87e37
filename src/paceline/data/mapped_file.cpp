#include "paceline/data/mapped_file.h"

#include "fmt/format.h"
#include "paceline/base/error.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::data {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  bool is_good = file >= 0 && ::fstat(file, &status) == 0;
  if (is_good && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    void* const start = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    is_good = start != MAP_FAILED;
    if (is_good) start_ = static_cast<const std::uint8_t*>(start);
  }
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!is_good) {
    throw base::DataError(fmt::format("{}: cannot read: {}", path.string(), std::strerror(error)));
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (start_ != nullptr) ::munmap(const_cast<std::uint8_t*>(start_), size_);
}

}  // namespace paceline::data
