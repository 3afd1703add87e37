#pragma once

#include "paceline/app/evaluation/top_classes.h"
#include "paceline/app/loaded_checkpoint.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// What is told of an image.
struct ToldImage {
  std::string path;
  std::vector<ToldClass> classes;  ///< the most probable first
  std::string error;               ///< what is wrong with one that could not be read; else empty
};

/// What `paceline predict` is asked to do.
struct PredictRequest {
  EvalRequest source;
  /// A PredictionFolder that is not there yet, or of volumes a VolumeFolder; empty: none.
  std::filesystem::path output = {};
  /// Where a PictureFolder writes, of a task that makes volumes; empty: nowhere.
  std::filesystem::path pictures = {};
  /// Called on rank 0 for each image in order, or empty; with how many are done and how many there
  /// are.
  std::function<void(const ToldImage& image, std::int64_t done, std::int64_t total)> tell = {};
  std::int64_t num_told = 5;  ///< classes of an image
};

struct PredictReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::int64_t samples = 0;
  std::int64_t skipped = 0;  ///< that could not be read
};

/// Writes what the task of a checkpoint gives out for the validation data of its recipe (with
/// overrides), or for what the request opens, in its order, and tells it, if it is of images and
/// classes with their probabilities. Every rank must call it; rank 0 writes and tells, and knows
/// the numbers of the report. Throws base::Error, ConfigError where the folder is there already or
/// what the task gives out cannot be told, or shown; returns nothing, and nothing but pictures was
/// written, if a signal interrupted it.
std::optional<PredictReport> run_prediction(const PredictRequest& request,
                                            const SessionContext& context);

}  // namespace paceline::app
