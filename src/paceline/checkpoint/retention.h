#pragma once

#include "paceline/base/file.h"
#include "paceline/checkpoint/listing.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace paceline::checkpoint {

/// Which checkpoints stay. One that is among the last or among the best is kept.
struct RetentionPolicy {
  std::optional<std::int64_t> keep_last = 3;  ///< at least 1; nothing: keep all
  std::int64_t keep_best = 0;
  std::string monitor = {};  ///< the metric that says what is best, as in Monitored::name
  MonitorMode mode = MonitorMode::kMax;
};

/// Those of checkpoints in the order of their steps that the policy keeps; the newest is always
/// among them.
std::vector<Listed> kept_by(const RetentionPolicy& policy, const std::vector<Listed>& checkpoints);

/// Removes what a policy gives up, once what it keeps is known to be whole: what this start of the
/// run saved or resumed from is, others are verified once. For rank 0, after a save has succeeded.
class Retention {
 public:
  /// The checkpoint of `resumed_step` is whole and always kept.
  Retention(RetentionPolicy policy, std::optional<std::int64_t> resumed_step);

  /// To be called after the checkpoint of `saved_step` was saved. Damaged checkpoints and those of
  /// later steps neither count nor are removed. Returns what was removed. Throws CheckpointError.
  std::vector<std::filesystem::path> apply(base::FileSystem& files,
                                           const std::filesystem::path& folder,
                                           std::int64_t saved_step);

 private:
  bool is_whole(const Listed& checkpoint);

  RetentionPolicy policy_;
  std::optional<std::int64_t> resumed_step_;
  std::set<std::int64_t> whole_;
  std::set<std::int64_t> damaged_;
};

}  // namespace paceline::checkpoint
