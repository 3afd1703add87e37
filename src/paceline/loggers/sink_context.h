#pragma once

#include "paceline/base/file.h"
#include "paceline/metrics/metric_sink.h"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace paceline::loggers {

/// What loggers know about the run besides their own options.
struct SinkContext {
  std::filesystem::path run_directory;
  std::int64_t total_steps = 0;       ///< 0: unknown
  base::FileSystem* files = nullptr;  ///< must outlive the sink
};

}  // namespace paceline::loggers
