#include "paceline/checkpoint/retention.h"

#include "paceline/checkpoint/directory.h"

#include <algorithm>
#include <set>

namespace paceline::checkpoint {

std::vector<Listed> superseded(const std::vector<Listed>& checkpoints,
                               const RetentionPolicy& policy) {
  if (!policy.keep_last) return {};
  const std::size_t num_last = std::min(
      checkpoints.size(), static_cast<std::size_t>(std::max<std::int64_t>(*policy.keep_last, 1)));
  std::set<std::int64_t> kept;
  const std::size_t num_best =
      static_cast<std::size_t>(std::max<std::int64_t>(policy.keep_best, 0));
  for (const Listed& best : best_of(checkpoints, policy.monitor, policy.mode, num_best)) {
    kept.insert(best.step);
  }
  std::vector<Listed> result;
  std::copy_if(checkpoints.begin(), checkpoints.end() - static_cast<std::ptrdiff_t>(num_last),
               std::back_inserter(result),
               [&](const Listed& listed) { return !kept.contains(listed.step); });
  return result;
}

std::vector<std::filesystem::path> apply_retention(base::FileSystem& files,
                                                   const std::filesystem::path& folder,
                                                   const RetentionPolicy& policy) {
  std::vector<std::filesystem::path> removed;
  for (const Listed& listed : superseded(list_checkpoints(folder).complete, policy)) {
    remove_checkpoint(files, listed.path);
    removed.push_back(listed.path);
  }
  return removed;
}

}  // namespace paceline::checkpoint
