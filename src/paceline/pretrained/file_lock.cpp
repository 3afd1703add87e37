#include "paceline/pretrained/file_lock.h"

#include "paceline/base/log.h"

#include <cerrno>
#include <chrono>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

enum class Outcome { kTaken, kBusy, kNoLocks };

Outcome try_lock(const fs::path& path, int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return Outcome::kTaken;
  if (errno == EWOULDBLOCK || errno == EINTR) return Outcome::kBusy;
  if (errno == ENOSYS || errno == ENOLCK || errno == EOPNOTSUPP) return Outcome::kNoLocks;
  throw base::FileError("lock", path, errno);
}

/// Some holders remove the file as they let go, and a lock of a removed file is none.
bool has_its_name(const fs::path& path, int descriptor) {
  struct stat own {};
  struct stat named {};
  return ::fstat(descriptor, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(base::FileSystem& files, const fs::path& path, const std::string& doing,
                   const base::Interruption& interruption) {
  constexpr std::chrono::milliseconds kPause{100};
  constexpr int kPausesUntilSaid = 10;
  files.create_directories(path.parent_path());
  for (int num_pauses = 0;; ++num_pauses) {
    const int descriptor = base::open_regular_file(path, O_RDWR);
    const Outcome outcome = try_lock(path, descriptor);
    if (outcome == Outcome::kTaken && has_its_name(path, descriptor)) {
      descriptor_ = descriptor;
      return;
    }
    ::close(descriptor);
    if (outcome == Outcome::kNoLocks) {
      base::log_warning("{}: its file system has no locks; start one program at a time",
                        path.string());
      return;
    }
    if (num_pauses == kPausesUntilSaid)
      base::log_info("waiting for another process that {} (it holds {})", doing, path.string());
    if (outcome == Outcome::kBusy) interruption.sleep_for(kPause);
    interruption.check(fmt::format("waiting for another process that {}", doing));
  }
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace paceline::pretrained
