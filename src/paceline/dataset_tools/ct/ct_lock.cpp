#include "paceline/dataset_tools/ct/ct_lock.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"

#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::dataset_tools {
namespace {

/// The holder removes the file as it lets go, and a lock of a removed file is none.
bool is_named(const std::filesystem::path& path, int descriptor) {
  struct stat own {};
  struct stat named {};
  return ::fstat(descriptor, &own) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

/// What the holder wrote about itself; empty if it has not yet.
std::string holder_in(int descriptor) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  const std::string holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return holder.substr(0, holder.find('\n'));
}

}  // namespace

CtLock::CtLock(const std::filesystem::path& folder, base::FileSystem& files)
    : path_(folder / "lock") {
  base::create_durable_directories(files, folder);
  for (;;) {
    const int descriptor = base::open_regular_file(path_, O_RDWR);
    const bool is_free = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const int error = errno;
    if (is_free && is_named(path_, descriptor)) {
      descriptor_ = descriptor;
      say_who_holds_it();
      return;
    }
    const std::string holder = is_free ? "" : holder_in(descriptor);
    ::close(descriptor);
    if (is_free) continue;
    if (error == EWOULDBLOCK)
      throw base::ConfigError(fmt::format(
          "{} is written by {} at this time; wait for it, stop it, or name another folder",
          folder.string(), holder.empty() ? "another process" : holder));
    if (error != ENOSYS && error != ENOLCK && error != EOPNOTSUPP)
      throw base::FileError("lock", path_, error);
    base::log_warning("{}: its file system has no locks; start one call at a time", path_.string());
    return;
  }
}

/// For the message of others; the lock holds without.
void CtLock::say_who_holds_it() const {
  std::array<char, 256> host{};
  const bool has_host = ::gethostname(host.data(), host.size() - 1) == 0;
  const std::string text =
      fmt::format("process {} on {}\n", ::getpid(), has_host ? host.data() : "an unknown host");
  if (::ftruncate(descriptor_, 0) != 0) return;
  [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), 0);
}

CtLock::~CtLock() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());  // while it is held: who opens it later sees that it has lost its name
  ::close(descriptor_);
}

}  // namespace paceline::dataset_tools
