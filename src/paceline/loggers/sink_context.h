#pragma once

#include "paceline/base/file.h"
#include "paceline/metrics/metric_sink.h"
#include "paceline/metrics/process_usage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace paceline::loggers {

/// What loggers know about the run besides their own options.
struct SinkContext {
  std::filesystem::path run_directory;
  std::int64_t total_steps = 0;                      ///< 0: unknown
  base::FileSystem* files = nullptr;                 ///< must outlive the sink
  std::vector<metrics::LocalRank> local_ranks = {};  ///< those on rank 0's machine
  int local_cores = 1;                               ///< that they have together
};

}  // namespace paceline::loggers
