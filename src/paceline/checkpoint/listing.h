#pragma once

#include "paceline/checkpoint/manifest.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/comm/communicator.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
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

/// Why a checkpoint cannot be used; empty if it can.
using DamageOf = std::function<std::string(const std::filesystem::path& checkpoint)>;

/// By all its checksums, for which it is read as a whole. Throws as list_checkpoints() does.
std::string damage_of(const std::filesystem::path& checkpoint);

/// The newest checkpoint that is whole. Throws as list_checkpoints() does.
Latest find_latest(const std::filesystem::path& folder, const DamageOf& damage = damage_of);

enum class MonitorMode { kMax, kMin };

/// The up to `count` best of checkpoints in the order of their steps by this metric, best first; of
/// equal ones the earlier is the better. Those without the metric or with NaN are none.
std::vector<Listed> best_of(const std::vector<Listed>& checkpoints, const std::string& monitor,
                            MonitorMode mode, std::size_t count);

/// The best of a folder's checkpoints by this metric that is whole. Throws as list_checkpoints()
/// does.
std::optional<Listed> best_whole(const std::filesystem::path& folder, const std::string& monitor,
                                 MonitorMode mode, const DamageOf& damage = damage_of);

/// Opens on all ranks the first checkpoint that is whole of those that rank 0 names; null when it
/// names none. All ranks compare its checksums together, each its share, so that rank 0 need not
/// read everything; `name` is called by rank 0 alone and learns what turned out to be damaged.
/// Every rank must call it. Throws the same CheckpointError on all of them.
std::unique_ptr<CheckpointReader> open_whole(
    const std::function<std::filesystem::path(const DamageOf& known)>& name,
    comm::Communicator& communicator);

/// For the message of a failed save: which checkpoint is the newest, that there is none, or that
/// the run directory itself is gone. Throws no Error.
std::string describe_newest(const std::filesystem::path& folder);

}  // namespace paceline::checkpoint
