#include "paceline/comm/shm/shared_memory.h"

#include "paceline/base/error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <sstream>
#include <system_error>
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

/// What the kernel shows of the memory; nobody can guess it.
std::string random_label() {
  std::random_device random;
  return fmt::format("paceline-{:08x}{:08x}", random(), random());
}

/// Where the kernel shows a process's descriptor: opened there, it is a description of its own,
/// with locks of its own.
std::string descriptor_path(int process, int descriptor) {
  return fmt::format("/proc/{}/fd/{}", process, descriptor);
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

SharedMemory::SharedMemory(std::string name, int descriptor)
    : name_(std::move(name)), descriptor_(descriptor) {}

void SharedMemory::map(std::size_t bytes) {
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapping == MAP_FAILED) fail("map", name_, errno);
  data_ = static_cast<std::byte*>(mapping);
  bytes_ = bytes;
}

SharedMemory SharedMemory::create(std::size_t bytes) {
  const std::string label = random_label();
  const int descriptor = memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) fail("create", label, errno);
  SharedMemory memory(fmt::format("{} {} {}", getpid(), descriptor, label), descriptor);
  if (const int error = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)); error != 0) {
    fail("reserve", label, error);
  }
  if (fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    fail("seal", label, errno);
  }
  memory.map(bytes);
  return memory;
}

SharedMemory SharedMemory::open(const std::string& name, std::size_t bytes) {
  int process = 0;
  int number = 0;
  std::string label;
  if (!(std::istringstream(name) >> process >> number >> label)) fail("find", name, EINVAL);
  const std::string path = descriptor_path(process, number);
  // In another PID namespace the same numbers are another file's, which is not ours to open.
  std::error_code error;
  const std::string target = std::filesystem::read_symlink(path, error).string();
  if (error) fail("open", name, error.value());
  if (!target.starts_with("/memfd:" + label)) fail("open", name, ENOENT);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) fail("open", name, errno);
  SharedMemory memory(name, descriptor);
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
      data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_) {}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
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
