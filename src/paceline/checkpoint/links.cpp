#include "paceline/checkpoint/links.h"

#include <vector>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

void remove(base::FileSystem& files, const fs::path& link) {
  if (fs::is_symlink(fs::symlink_status(link))) files.remove_all(link);
}

/// At the first of `targets`, by its name alone, so that the folder can be moved.
void point(base::FileSystem& files, const fs::path& link, const std::vector<Listed>& targets) {
  if (targets.empty()) return remove(files, link);
  files.set_symlink(link, targets.front().path.filename());
}

}  // namespace

void point_links(base::FileSystem& files, const fs::path& folder, const std::string& monitor,
                 MonitorMode mode) {
  const std::vector<Listed> complete = list_checkpoints(folder).complete;
  std::vector<Listed> last;
  if (!complete.empty()) last.push_back(complete.back());
  point(files, folder / kLastLink, last);
  point(files, folder / kBestLink, best_of(complete, monitor, mode, 1));
}

void remove_links(base::FileSystem& files, const fs::path& folder) {
  for (const char* link : {kLastLink, kBestLink}) remove(files, folder / link);
}

}  // namespace paceline::checkpoint
