#include "paceline/checkpoint/retention.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/checkpoint/directory.h"
#include "paceline/checkpoint/reader.h"

#include <algorithm>
#include <utility>

namespace paceline::checkpoint {

std::vector<Listed> kept_by(const RetentionPolicy& policy, const std::vector<Listed>& checkpoints) {
  if (!policy.keep_last) return checkpoints;
  const std::size_t num_last = std::min(
      checkpoints.size(), static_cast<std::size_t>(std::max<std::int64_t>(*policy.keep_last, 1)));
  std::vector<Listed> kept(checkpoints.end() - static_cast<std::ptrdiff_t>(num_last),
                           checkpoints.end());
  const auto num_best = static_cast<std::size_t>(std::max<std::int64_t>(policy.keep_best, 0));
  for (Listed& best : best_of(checkpoints, policy.monitor, policy.mode, num_best)) {
    const bool is_new = std::none_of(
        kept.begin(), kept.end(), [&](const Listed& listed) { return listed.step == best.step; });
    if (is_new) kept.push_back(std::move(best));
  }
  return kept;
}

Retention::Retention(RetentionPolicy policy, std::optional<std::int64_t> resumed_step)
    : policy_(std::move(policy)), resumed_step_(resumed_step) {
  if (resumed_step_) whole_.insert(*resumed_step_);
}

std::vector<std::filesystem::path> Retention::apply(base::FileSystem& files,
                                                    const std::filesystem::path& folder,
                                                    std::int64_t saved_step) {
  whole_.insert(saved_step);
  std::vector<Listed> candidates = list_checkpoints(folder).complete;
  std::erase_if(candidates, [&](const Listed& listed) { return listed.step > saved_step; });
  std::vector<Listed> kept;
  for (bool all_are_whole = false; !all_are_whole;) {
    std::erase_if(candidates, [&](const Listed& listed) { return damaged_.contains(listed.step); });
    kept = kept_by(policy_, candidates);
    all_are_whole = std::all_of(kept.begin(), kept.end(),
                                [&](const Listed& listed) { return is_whole(listed); });
  }
  std::vector<std::filesystem::path> removed;
  for (const Listed& candidate : candidates) {
    const bool stays = candidate.step == resumed_step_ ||
                       std::any_of(kept.begin(), kept.end(), [&](const Listed& listed) {
                         return listed.step == candidate.step;
                       });
    if (stays) continue;
    remove_checkpoint(files, candidate.path);
    removed.push_back(candidate.path);
  }
  return removed;
}

bool Retention::is_whole(const Listed& checkpoint) {
  if (whole_.contains(checkpoint.step)) return true;
  try {
    CheckpointReader(checkpoint.path).verify();
    whole_.insert(checkpoint.step);
    return true;
  } catch (const base::CheckpointError& error) {
    base::log_warning("{} is damaged and does not count among the checkpoints to keep: {}",
                      checkpoint.path.string(), error.what());
    damaged_.insert(checkpoint.step);
    return false;
  }
}

}  // namespace paceline::checkpoint
