#pragma once

#include "paceline/app/session.h"
#include "paceline/base/file.h"
#include "paceline/train/trainer.h"

#include <filesystem>

namespace paceline::app {

/// Writes summary.json of a run: how it ended, its final metrics, time, throughput, use of the
/// machine, peak memory and versions. Ends what loggers measure themselves. For rank 0.
void write_summary(const std::filesystem::path& path, const Session& session,
                   const train::FitResult& result, base::FileSystem& files);

/// Largest resident memory of this process so far, in bytes.
std::uint64_t peak_resident_bytes();

}  // namespace paceline::app
