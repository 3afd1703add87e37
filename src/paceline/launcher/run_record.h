#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace paceline::launcher {

/// A process that cannot be mistaken for a later one with the same number.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< since the machine's start; field 22 of /proc/PID/stat
  std::string boot_id = {};       ///< of this start of the machine

  bool operator==(const ProcessIdentity&) const = default;
};

/// Nothing if there is no such process or it has ended and waits to be reaped.
std::optional<ProcessIdentity> identity_of(pid_t pid);

/// The file launcher.json of a detached run: who runs it.
struct RunRecord {
  ProcessIdentity launcher = {};
  std::string host = {};
  std::vector<std::string> command = {};  ///< verb and recipe; what else was given may be secret
  std::string started_at = {};            ///< local time, ISO 8601
  std::optional<int> exit_code =
      {};  ///< nothing while the run lasts, or if its launcher was killed

  /// Whether the launcher lives; only its own host can tell.
  bool is_alive() const { return identity_of(launcher.pid) == launcher; }
};

/// launcher.json or launcher.log; on node 1 and up with the node's number, as nodes may share a
/// file system.
std::filesystem::path launcher_file(const std::filesystem::path& run_dir, int node_rank,
                                    const std::string& extension);

/// Atomic. Throws CheckpointError.
void write_record(const std::filesystem::path& path, const RunRecord& record);
/// Nothing if there is no such file. Throws CheckpointError if it is damaged.
std::optional<RunRecord> read_record(const std::filesystem::path& path);

}  // namespace paceline::launcher
