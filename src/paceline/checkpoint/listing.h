#pragma once

#include "paceline/checkpoint/manifest.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::checkpoint {

/// The directories and their manifests are the only truth about which checkpoints there are: no
/// index and no link that a crash could leave behind pointing elsewhere.

struct Listed {
  std::filesystem::path path;
  std::int64_t step = 0;
  std::optional<Monitored> monitored;
};

struct Damaged {
  std::filesystem::path path;
  std::int64_t step = 0;
  std::string reason;
};

struct Listing {
  std::vector<Listed> complete;  ///< by step
  std::vector<Damaged> damaged;

  bool is_empty() const { return complete.empty() && damaged.empty(); }
};

/// Reads all manifests and compares the sizes of the files; reads no tensors. An absent folder is
/// empty. Throws FileError for what cannot be read though it may be good.
Listing list_checkpoints(const std::filesystem::path& folder);

struct Latest {
  std::optional<std::filesystem::path> path;
  std::vector<Damaged> skipped;  ///< newer ones that cannot be used: to be reported
};

/// The newest checkpoint that is whole, by all its checksums. Throws as list_checkpoints() does.
Latest find_latest(const std::filesystem::path& folder);

enum class MonitorMode { kMax, kMin };

/// The up to `count` best of checkpoints in the order of their steps by this metric, best first; of
/// equal ones the earlier is the better. Those without the metric or with NaN are none.
std::vector<Listed> best_of(const std::vector<Listed>& checkpoints, const std::string& monitor,
                            MonitorMode mode, std::size_t count);

/// The best of a folder's checkpoints by this metric that is whole, by all its checksums. Throws as
/// list_checkpoints() does.
std::optional<Listed> best_whole(const std::filesystem::path& folder, const std::string& monitor,
                                 MonitorMode mode);

/// For the message of a failed save: which checkpoint is the newest, that there is none, or that
/// the run directory itself is gone. Throws no Error.
std::string describe_newest(const std::filesystem::path& folder);

}  // namespace paceline::checkpoint
