#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace paceline::metrics {

/// A rank on this machine, as far as its use of the machine is watched.
struct LocalRank {
  int rank = 0;
  int process = 0;  ///< its id, as this process sees it
  std::string gpu;  ///< "GPU-..."; empty: it computes on the CPU
};

/// What a process has used of the machine so far.
struct ProcessUsage {
  double cpu_s = 0;  ///< of all its threads, in user and in system mode
  std::uint64_t resident_bytes = 0;
  std::uint64_t peak_resident_bytes = 0;
};

/// nullopt when there is no such process, or none that may be read. `proc` stands for /proc.
std::optional<ProcessUsage> read_process_usage(int process,
                                               const std::filesystem::path& proc = "/proc");

}  // namespace paceline::metrics
