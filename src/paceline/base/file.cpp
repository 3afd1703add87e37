#include "paceline/base/file.h"

#include "paceline/base/file_status.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::base {
namespace {

namespace fs = std::filesystem;

std::string_view cure_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "free some space, or choose a folder on another disk";
    case EDQUOT:
      return "the disk quota is used up: free some space, or choose a folder on another disk";
    case EROFS:
      return "choose a folder on a disk that is mounted for writing";
    case EACCES:
    case EPERM:
      return "choose another path, or give this user the permission";
    case ENOENT:
      return "check the spelling of the path";
    case ENOTDIR:
      return "a part of the path is a file, not a folder";
    case ENAMETOOLONG:
      return "shorten the name or the path";
    case ELOOP:
      return "the symbolic links on the path lead in a circle: remove one of them";
    case EISDIR:
      return "name a file, not a folder";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    case EIO:
      return "the disk or the network file system fails: check its log (dmesg)";
    default:
      return "";
  }
}

std::string file_message(std::string_view action, const fs::path& path, int error_number) {
  std::string message = fmt::format("cannot {} {}: {}", action, path.string(),
                                    std::generic_category().message(error_number));
  const std::string_view cure = cure_for(error_number);
  if (!cure.empty()) message += fmt::format("; {}", cure);
  return message;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(std::string_view action, const fs::path& path, int flags)
      : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) throw FileError(action, path, errno);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// What stands where a regular file is wanted, for messages.
std::string_view kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "is a symbolic link: name what it points at, or remove it";
  if (S_ISDIR(mode)) return "is a folder: name a file";
  if (S_ISFIFO(mode)) return "is a pipe: name a regular file";
  if (S_ISSOCK(mode)) return "is a socket: name a regular file";
  return "is a device: name a regular file";
}

/// Throws unless the descriptor is of a regular file.
struct stat status_of_regular(std::string_view action, const fs::path& path, int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw FileError(action, path, errno);
  if (!S_ISREG(status.st_mode)) throw FileError(action, path, kind_of(status.st_mode));
  return status;
}

/// Throws if something else than a regular file has the name; nothing may have it.
void require_replaceable(std::string_view action, const fs::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    throw FileError(action, path, errno);
  }
  if (!S_ISREG(status.st_mode)) throw FileError(action, path, kind_of(status.st_mode));
}

/// Opens a file that was not there before, in the place of a regular one.
int create_anew(const fs::path& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int fd = ::open(path.c_str(), kFlags, 0666);
  if (fd < 0 && errno == EEXIST) {
    require_replaceable("create", path);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw FileError("create", path, errno);
    fd = ::open(path.c_str(), kFlags, 0666);
  }
  if (fd < 0) throw FileError("create", path, errno);
  return fd;
}

constexpr off_t kFlushBytes = off_t{32} << 20;

class RealOutputFile final : public OutputFile {
 public:
  /// Takes the descriptor.
  RealOutputFile(const fs::path& path, int fd)
      : path_(path), descriptor_(fd), counts_names_(num_names() > 0) {}

  void write(std::string_view bytes) override {
    const off_t before = size_;
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        const int error = errno;
        cut_off(size_ - before);
        throw FileError("write", path_, error);
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
      size_ += written;
    }
    if (size_ - flushed_ >= kFlushBytes) begin_flush();
    if (has_lost_its_name()) {
      cut_off(size_ - before);  // a caller that tries again must not fill the disk with it
      throw_removed();
    }
  }

  void sync() override {
    if (::fsync(descriptor_.get()) != 0) throw FileError("write", path_, errno);
    if (has_lost_its_name()) throw_removed();
  }

  void close() override {
    const int fd = descriptor_.release();
    if (fd >= 0 && ::close(fd) != 0) throw FileError("write", path_, errno);
  }

 private:
  /// Takes back what a failed write has written.
  void cut_off(off_t length) {
    if (length == 0) return;
    struct stat status {};
    const int fd = descriptor_.get();
    if (::fstat(fd, &status) != 0 || ::ftruncate(fd, status.st_size - length) != 0) return;
    ::lseek(fd, 0, SEEK_END);
    size_ -= length;
  }

  /// What is written into a file that was removed is lost, and no write ever says so.
  bool has_lost_its_name() const { return counts_names_ && num_names() == 0; }
  [[noreturn]] void throw_removed() const {
    throw FileError("write", path_, "it was removed while it was being written");
  }

  nlink_t num_names() const {
    struct stat status {};
    return ::fstat(descriptor_.get(), &status) == 0 ? status.st_nlink : 0;
  }

  /// A large file goes to the disk while more of it is made, not in one piece when it is fsynced.
  void begin_flush() {
    ::sync_file_range(descriptor_.get(), flushed_, size_ - flushed_, SYNC_FILE_RANGE_WRITE);
    flushed_ = size_;  // only a hint: sync() tells what went wrong
  }

  fs::path path_;
  Descriptor descriptor_;
  bool counts_names_;  ///< some file systems in user space always say 0
  off_t size_ = 0;     ///< of what was written here
  off_t flushed_ = 0;  ///< how much of it is on its way to the disk
};

}  // namespace

FileError::FileError(std::string_view action, const fs::path& path, int error_number)
    : CheckpointError(file_message(action, path, error_number)),
      path_(path),
      error_number_(error_number) {}

FileError::FileError(std::string_view action, const fs::path& path, std::string_view reason)
    : CheckpointError(fmt::format("cannot {} {}: {}", action, path.string(), reason)),
      path_(path),
      error_number_(EINVAL) {}

int open_regular_file(const fs::path& path, int flags) {
  // Without O_NONBLOCK a pipe would wait for its other end.
  constexpr int kAlways = O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::open(path.c_str(), flags | kAlways, 0666));
  if (file.get() < 0) {
    const int error = errno;
    if (error == ELOOP || error == ENXIO) require_replaceable("write", path);
    throw FileError("write", path, error);
  }
  if (status_of_regular("write", path, file.get()).st_nlink > 1) {
    throw FileError("write", path,
                    "it is a hard link, a second name of a file elsewhere that would change with "
                    "it: remove it, or put a copy of its own in its place");
  }
  return file.release();
}

std::unique_ptr<OutputFile> RealFileSystem::create(const fs::path& path) {
  return std::make_unique<RealOutputFile>(path, create_anew(path));
}

std::unique_ptr<OutputFile> RealFileSystem::append(const fs::path& path) {
  return std::make_unique<RealOutputFile>(path, open_regular_file(path, O_WRONLY | O_APPEND));
}

void RealFileSystem::rename(const fs::path& from, const fs::path& to) {
  // A folder replaces only an empty folder; rename() itself refuses all else.
  struct stat status {};
  if (::lstat(from.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    require_replaceable("replace", to);
  }
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw FileError(fmt::format("rename {} to", from.string()), to, errno);
  }
}

bool RealFileSystem::link(const fs::path& from, const fs::path& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  // Other disks, file systems without links, and files of other users.
  for (const int refusal : {EXDEV, EMLINK, EPERM, EOPNOTSUPP, ENOSYS})
    if (errno == refusal) return false;
  throw FileError(fmt::format("link {} to", from.string()), to, errno);
}

void RealFileSystem::set_symlink(const fs::path& link, const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(link, error);
  if (fs::exists(status) && !fs::is_symlink(status))
    throw FileError("link", link, "it is there already and no symbolic link: rename or remove it");
  const fs::path temporary = unfinished_path(link);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, link, error);
  if (!error) return;
  ::unlink(temporary.c_str());
  throw FileError("link", link, error.value());
}

void RealFileSystem::sync_directory(const fs::path& path) {
  const Descriptor directory("open", path.empty() ? "." : path, O_RDONLY | O_DIRECTORY);
  // Some network file systems cannot fsync a folder; they order its changes themselves.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) throw FileError("write", path, errno);
}

void RealFileSystem::create_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw FileError("create the folder", path, error.value());
}

void RealFileSystem::create_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  if (error) throw FileError("create the folder", path, error.value());
}

void RealFileSystem::remove_all(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw FileError("remove", path, error.value());
}

std::string read_file(const fs::path& path, std::uint64_t most_bytes) {
  const Descriptor file("read", path, O_RDONLY | O_NONBLOCK);
  const struct stat status = status_of_regular("read", path, file.get());
  const auto require_fitting = [&](std::uint64_t size) {
    if (size <= most_bytes) return;
    throw FileError(
        "read", path,
        fmt::format("it has more than {} bytes, the most that such a file may have", most_bytes));
  };
  require_fitting(static_cast<std::uint64_t>(status.st_size));
  std::string text;
  text.reserve(static_cast<std::size_t>(status.st_size));
  char buffer[1 << 16];
  for (;;) {
    require_fitting(text.size());  // files of /proc tell no size
    const ssize_t count = ::read(file.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw FileError("read", path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

fs::path unfinished_path(const fs::path& path) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    throw InternalError("the system gives no random numbers");
  }
  fs::path unfinished = path;
  unfinished += fmt::format("{}{:016x}", kUnfinishedMark, number);
  return unfinished;
}

void write_file_atomically(FileSystem& files, const fs::path& path, std::string_view text) {
  require_replaceable("replace", path);
  const fs::path temporary = unfinished_path(path);
  try {
    auto file = files.create(temporary);
    file->write(text);
    file->sync();
    file->close();
    files.rename(temporary, path);
  } catch (const FileError&) {
    std::error_code ignored;  // The first error is the one to report.
    fs::remove(temporary, ignored);
    throw;
  }
  files.sync_directory(path.parent_path());
}

void create_durable_directories(FileSystem& files, const fs::path& path) {
  std::vector<fs::path> parents;  // of those that are missing
  const fs::path whole = fs::absolute(path).lexically_normal();
  std::error_code unknown;  // whether it is there: to make it tells why
  for (fs::path missing = whole; !fs::exists(missing, unknown); missing = missing.parent_path())
    parents.push_back(missing.parent_path());
  files.create_directories(whole);
  for (const fs::path& parent : parents) files.sync_directory(parent);
}

MappedFile::MappedFile(const fs::path& path) {
  const Descriptor file("read", path, O_RDONLY | O_NONBLOCK);
  const struct stat status = status_of_regular("read", path, file.get());
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* data = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) throw FileError("map", path, errno);
  data_ = static_cast<const char*>(data);
  descriptor_ = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);
  if (descriptor_ < 0) {
    const int problem = errno;
    ::munmap(data, size_);
    throw FileError("keep open", path, problem);
  }
}

bool MappedFile::is_whole() const {
  struct stat status {};
  return descriptor_ < 0 || (::fstat(descriptor_, &status) == 0 &&
                             static_cast<std::uint64_t>(status.st_size) >= size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

TempDir::TempDir(std::string_view prefix) {
  std::string name = (fs::temp_directory_path() / fmt::format("{}-XXXXXX", prefix)).string();
  if (::mkdtemp(name.data()) == nullptr) throw FileError("create the folder", name, errno);
  path_ = name;
}

TempDir::TempDir(TempDir&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace paceline::base
