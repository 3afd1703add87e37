#include "paceline/checkpoint/run_lock.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/checkpoint/directory.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

constexpr std::uint64_t kLongestLock = 4096;  // bytes; no holder writes as much

/// Without newline; empty while the holder has not yet written it.
std::string holder_of(const fs::path& path) {
  const std::string text = base::read_file(path, kLongestLock);
  return text.substr(0, text.find('\n'));
}

int open_and_lock(const fs::path& path, std::string_view setting) {
  const int fd = base::open_regular_file(path, O_RDWR);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const int error = errno;
  ::close(fd);
  if (error != EWOULDBLOCK) throw base::FileError("lock", path, error);
  throw base::CheckpointError(
      fmt::format("{} is in use by {}: wait for it, stop it, or choose another {}",
                  path.parent_path().string(), holder_of(path), setting));
}

/// What a killed process has left half written. What is younger may be at work still: an export
/// into the run directory, or another machine's launcher, which need no lock.
void sweep_unfinished(base::FileSystem& files, const fs::path& directory) {
  constexpr auto kAge = std::chrono::hours(1);
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!base::is_unfinished_name(entry->path().filename().string())) continue;
    std::error_code ignored;
    if (!fs::is_regular_file(entry->symlink_status(ignored))) continue;
    const auto written = fs::last_write_time(entry->path(), ignored);
    if (!ignored && fs::file_time_type::clock::now() - written > kAge)
      found.push_back(entry->path());
  }
  for (const fs::path& path : found) remove_quietly(files, path);
}

}  // namespace

RunLock::RunLock(const fs::path& directory, std::string_view setting, base::FileSystem& files)
    : path_(directory / "lock"), fd_(-1) {
  base::create_durable_directories(files, directory);
  fd_ = open_and_lock(path_, setting);
  const std::string text = fmt::format("process {} on {}\n", getpid(), host_name());
  const auto size = static_cast<ssize_t>(text.size());
  if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, text.data(), text.size(), 0) != size) {
    const int error = errno;
    ::close(fd_);
    throw base::FileError("write", path_, error);
  }
  sweep_unfinished(files, directory);
}

void RunLock::require() const {
  struct stat held {};
  struct stat found {};
  if (::fstat(fd_, &held) == 0 && ::lstat(path_.c_str(), &found) == 0 &&
      held.st_dev == found.st_dev && held.st_ino == found.st_ino) {
    return;
  }
  throw base::CheckpointError(fmt::format(
      "the run directory {} is gone: it was removed, moved or replaced while the run wrote to it, "
      "and what was written there with it",
      path_.parent_path().string()));
}

RunLock::~RunLock() { ::close(fd_); }

}  // namespace paceline::checkpoint
