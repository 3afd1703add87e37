#include "paceline/launcher/sweep/sweep_lock.h"

#include "paceline/base/error.h"

#include <cerrno>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace paceline::launcher {

SweepLock::SweepLock(const std::filesystem::path& folder, base::FileSystem& files) {
  base::create_durable_directories(files, folder);
  const std::filesystem::path path = folder / "lock";
  descriptor_.reset(base::open_regular_file(path, O_RDWR));
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw base::FileError("lock", path, errno);
    constexpr std::uint64_t kLongest = 4096;
    const std::string holder = base::read_file(path, kLongest);
    throw base::CheckpointError(
        fmt::format("{} is in use by {}: wait for it, stop it, or choose another --sweep-dir",
                    folder.string(), holder.substr(0, holder.find('\n'))));
  }
  const std::string text = fmt::format("process {}\n", getpid());
  if (::ftruncate(descriptor_.get(), 0) != 0 ||
      ::pwrite(descriptor_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw base::FileError("write", path, errno);
}

}  // namespace paceline::launcher
