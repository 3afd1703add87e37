#include "paceline/data/index/index_cache.h"

#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/hash.h"
#include "paceline/base/log.h"
#include "paceline/data/storage/cache_folder.h"

#include <cerrno>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace paceline::data {

namespace fs = std::filesystem;

std::vector<fs::path> index_files(const fs::path& folder, const std::string& name) {
  std::string plain_name = name;
  std::replace(plain_name.begin(), plain_name.end(), '/', '-');
  std::vector<fs::path> files;
  // In the folder that it lists it would change that folder's time.
  if (!is_remote(folder) && !name.empty())
    files.push_back(folder / fmt::format(".paceline-{}.index", plain_name));
  const fs::path cache = user_cache();
  if (!cache.empty()) {
    const fs::path place = folder / name;
    const std::string text =
        is_remote(folder) ? place.string() : fs::absolute(place).lexically_normal().string();
    files.push_back(cache / fmt::format("{:016x}-{}.index", base::xxh3(text), plain_name));
  }
  return files;
}

IndexTurn::IndexTurn(const std::vector<fs::path>& files, const Storage& storage) {
  start_s_ = base::SystemClock().monotonic_s();
  if (files.empty()) return;
  name_ = files.front().string();
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);  // of this machine, unlike a home
  lock_ = folder / fmt::format("paceline-{}-{:016x}.lock", ::getuid(), base::xxh3(name_));
  descriptor_ = ::open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor_ < 0) return;  // where there is no room for locks, each makes its own
  constexpr auto kPause = std::chrono::milliseconds(20);
  constexpr double kTellEverySeconds = 30;
  double tell_at_s = 1;
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    has_waited_ = true;
    try {
      storage.check_interruption("waiting for another process, which lists or fetches the samples");
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
    std::this_thread::sleep_for(kPause);
    const double waited_s = base::SystemClock().monotonic_s() - start_s_;
    if (waited_s < tell_at_s) continue;
    base::log_info(
        "another process of this machine lists or fetches what is to be in {}: waiting for it, "
        "{:.0f} s so far",
        name_, waited_s);
    tell_at_s = waited_s + kTellEverySeconds;
  }
  if (has_waited_) ::flock(descriptor_, LOCK_UN);
}

IndexTurn::~IndexTurn() {
  if (descriptor_ < 0) return;
  if (!has_waited_) ::unlink(lock_.c_str());
  ::close(descriptor_);
}

void IndexTurn::tell(std::int64_t num_samples) const {
  constexpr double kLongSeconds = 2;
  const double seconds = base::SystemClock().monotonic_s() - start_s_;
  if (seconds > kLongSeconds)
    base::log_info("listed {} samples for {} in {:.0f} s", num_samples, name_, seconds);
}

bool save_index(const fs::path& file, std::string_view bytes) {
  base::RealFileSystem files;
  try {
    files.create_directories(file.parent_path());
    base::write_file_atomically(files, file, bytes);
    return true;
  } catch (const base::FileError&) {
    return false;
  }
}

void remove_indices(const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    std::error_code error;
    fs::remove(file, error);
    if (error && error != std::errc::not_a_directory)
      throw base::DataError(
          fmt::format("{}: an old list of samples cannot be removed: {}; remove "
                      "it, or set XDG_CACHE_HOME",
                      file.string(), error.message()));
  }
}

std::int64_t stable_before() {
  // File systems count time in steps of up to two seconds.
  const auto limit = std::chrono::system_clock::now() - std::chrono::seconds(2);
  return std::chrono::nanoseconds(limit.time_since_epoch()).count();
}

}  // namespace paceline::data
