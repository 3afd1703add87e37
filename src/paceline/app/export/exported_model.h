#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/checkpoint/manifest.h"
#include "paceline/config/node.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::app {

/// The key of a config.json under which paceline says what timm's words have no room for.
inline constexpr std::string_view kOwnKey = "paceline";

/// What stands under kOwnKey: the sections of a recipe by which the network and its images are made
/// again, and how many steps it was trained.
nlohmann::ordered_json describe_for_export(const Recipe& recipe,
                                           const checkpoint::Manifest& manifest,
                                           const Registries& registries);

/// A network as a folder in the form of the Hugging Face Hub tells it.
struct ExportedModel {
  std::filesystem::path weights;
  config::Node recipe;                   ///< of the model and how images are prepared for it
  std::vector<std::string> class_names;  ///< by label; empty: they are not told
  std::int64_t step = 0;                 ///< 0 if that is not told
};

/// The file of weights that `named` stands for: itself, or that of a folder which is neither a run
/// nor a checkpoint, where a config.json lies beside it. Nothing of anything else.
std::optional<std::filesystem::path> find_exported_weights(const std::filesystem::path& named);

/// What the config.json beside weights says: what export_hub_folder() wrote, or timm's. Throws
/// ConfigError that names the file for a model that is none of `registries`', DataError for a file
/// of another form.
ExportedModel read_exported_model(const std::filesystem::path& weights,
                                  const Registries& registries);

/// Of the weights and the config.json beside them. Throws FileError.
std::string fingerprint_of_exported(const std::filesystem::path& weights);

}  // namespace paceline::app
