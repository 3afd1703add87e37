#include "paceline/comm/shm/shared_memory.h"

#include "paceline/base/error.h"

#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::comm {
namespace {

[[noreturn]] void fail(const char* operation, const std::string& name, int error) {
  throw base::CommError(
      fmt::format("cannot {} the shared memory {}: {}", operation, name, std::strerror(error)));
}

std::string random_name() {
  std::random_device random;
  return fmt::format("/paceline-{:08x}{:08x}", random(), random());
}

/// The byte of the file that stands for a rank.
struct flock presence_of(int rank) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = rank;
  range.l_len = 1;
  return range;
}

}  // namespace

SharedMemory::SharedMemory(std::string name, int descriptor, bool is_maker)
    : name_(std::move(name)), descriptor_(descriptor), is_linked_(is_maker) {}

void SharedMemory::map(std::size_t bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapping == MAP_FAILED) fail("map", name_, errno);
  data_ = static_cast<std::byte*>(mapping);
  bytes_ = bytes;
}

SharedMemory SharedMemory::create(std::size_t bytes) {
  const std::string name = random_name();
  const int descriptor = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) fail("create", name, errno);
  SharedMemory memory(name, descriptor, /*is_maker=*/true);
  if (const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)); error != 0) {
    fail("reserve", name, error);
  }
  memory.map(bytes);
  return memory;
}

SharedMemory SharedMemory::open(const std::string& name, std::size_t bytes) {
  const int descriptor = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (descriptor < 0) fail("open", name, errno);
  SharedMemory memory(name, descriptor, /*is_maker=*/false);
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || static_cast<std::size_t>(status.st_size) != bytes) {
    fail("use", name, EINVAL);
  }
  memory.map(bytes);
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      is_linked_(std::exchange(other.is_linked_, false)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

SharedMemory::~SharedMemory() {
  unlink();
  if (data_ != nullptr) munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

void SharedMemory::unlink() noexcept {
  if (std::exchange(is_linked_, false)) shm_unlink(name_.c_str());
}

void SharedMemory::mark_present(int rank) const {
  struct flock range = presence_of(rank);
  if (fcntl(descriptor_, F_OFD_SETLK, &range) != 0) fail("join", name_, errno);
}

bool SharedMemory::is_present(int rank) const {
  struct flock range = presence_of(rank);
  return fcntl(descriptor_, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

}  // namespace paceline::comm
