#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/file.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/checkpoint/surgery.h"
#include "paceline/checkpoint/weights/weights.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// Which weights were exported.
struct ExportReport {
  std::filesystem::path checkpoint;
  std::int64_t step = 0;
  std::string weights;  ///< whose they are, an algorithm's name; empty: the trained ones
  std::optional<checkpoint::Monitored> monitored;
  checkpoint::SurgeryRecord surgery;  ///< without which the weights mean something else
  std::vector<std::string> notes = {};
  std::vector<std::string> composer_calls = {};  ///< ComposerModel::calls
};

/// Writes the model's weights of a checkpoint, named as find_checkpoint() knows it, as one file,
/// with the step, whose weights they are if not the trained ones, the classes' names (a JSON list)
/// and what was done to the network in its metadata; `weights` as in EvalRequest. For one process.
/// Throws CheckpointError.
ExportReport export_checkpoint(
    const std::filesystem::path& run_or_checkpoint, const std::string& weights,
    const std::filesystem::path& output, base::FileSystem& files,
    checkpoint::WeightFormat format = checkpoint::WeightFormat::kSafetensors);

/// The same with the names that the model has in MosaicML Composer. Throws what as_composers()
/// throws, too.
ExportReport export_for_composer(
    const std::filesystem::path& run_or_checkpoint, const std::string& weights,
    const std::filesystem::path& output, base::FileSystem& files, const Registries& registries,
    checkpoint::WeightFormat format = checkpoint::WeightFormat::kSafetensors);

/// The same into a folder as those of the Hugging Face Hub are: model.safetensors, timm's
/// config.json and a README.md, the model's card. A note tells if timm has no such model. Throws
/// CheckpointError, ConfigError.
ExportReport export_hub_folder(const std::filesystem::path& run_or_checkpoint,
                               const std::string& weights, const std::filesystem::path& folder,
                               base::FileSystem& files, const Registries& registries);

}  // namespace paceline::app
