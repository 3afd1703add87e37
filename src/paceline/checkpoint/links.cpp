#include "paceline/checkpoint/links.h"

#include <vector>

namespace paceline::checkpoint {
namespace {

namespace fs = std::filesystem;

void remove(base::FileSystem& files, const fs::path& link) {
  if (fs::is_symlink(fs::symlink_status(link))) files.remove_all(link);
}

/// At `target`, if there is one, by its name alone, so that the folder can be moved.
void point(base::FileSystem& files, const fs::path& link, const Listed* target) {
  if (target == nullptr) return remove(files, link);
  files.set_symlink(link, target->path.filename());
}

}  // namespace

void point_links(base::FileSystem& files, const fs::path& folder, const std::string& monitor,
                 MonitorMode mode) {
  const std::vector<Listed> complete = list_checkpoints(folder).complete;
  const std::vector<Listed> best = best_of(complete, monitor, mode, 1);
  point(files, folder / kLastLink, complete.empty() ? nullptr : &complete.back());
  point(files, folder / kBestLink, best.empty() ? nullptr : &best.front());
}

void remove_links(base::FileSystem& files, const fs::path& folder) {
  for (const char* link : {kLastLink, kBestLink}) remove(files, folder / link);
}

}  // namespace paceline::checkpoint
