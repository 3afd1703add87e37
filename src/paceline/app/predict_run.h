#pragma once

#include "paceline/app/loaded_checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// What `paceline predict` is asked to do.
struct PredictRequest {
  EvalRequest source;
  std::filesystem::path output;  ///< a PredictionFolder that is not there yet
};

struct PredictReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::int64_t samples = 0;
  std::int64_t skipped = 0;  ///< that could not be read
};

/// Writes what the task of a checkpoint gives out for the validation data of its recipe (with
/// overrides), in the order of the data set. Every rank must call it; rank 0 writes, and knows the
/// numbers of the report. Throws base::Error, ConfigError where the folder is there already;
/// returns nothing, and nothing was written, if a signal interrupted it.
std::optional<PredictReport> run_prediction(const PredictRequest& request,
                                            const SessionContext& context);

}  // namespace paceline::app
