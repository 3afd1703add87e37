#include "paceline/base/sync_all.h"

#include <fcntl.h>
#include <unistd.h>

namespace paceline::base {
namespace {

/// Writes all back in one go, so that the single syncs find little left to do. Only a hint: they
/// tell what went wrong.
void begin_sync(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::syncfs(fd);
  ::close(fd);
}

}  // namespace

void sync_all(FileSystem& files, const std::filesystem::path& folder) {
  begin_sync(folder);
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->is_directory(error)) {
      files.sync_directory(entry->path());
    } else if (error) {
      break;
    } else {
      files.append(entry->path())->sync();
    }
  }
  if (error) throw FileError("list", folder, error.value());
  files.sync_directory(folder);
}

}  // namespace paceline::base
