#include "paceline/cli/predict_xrays.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/data/ct/ct_plugin.h"
#include "paceline/data/sources/ct/ct_constants.h"
#include "paceline/data/storage/storage.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"
#include "paceline/dataset_tools/ct/xray_patients.h"
#include "paceline/dataset_tools/ct/xray_views.h"
#include "paceline/models/ct_cascade/ct_cascade.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace paceline::cli {
namespace {

namespace fs = std::filesystem;

/// A word KEY=VALUE that names no section of a recipe, and no file.
struct NamedFile {
  std::string key;
  std::string file;
};

std::optional<NamedFile> named_file(const std::string& word) {
  const std::size_t end = word.find('=');
  std::error_code unknown;
  if (end == word.npos || fs::exists(word, unknown)) return std::nullopt;
  NamedFile named{word.substr(0, end), word.substr(end + 1)};
  const bool names_view = dataset_tools::view_angle(named.key).has_value();
  if (!names_view && (named.key.find_first_of("+~./") != named.key.npos ||
                      config::describe<app::Recipe>().find(named.key) != nullptr))
    return std::nullopt;
  return named;
}

bool is_view(const std::string& word) {
  const auto named = named_file(word);
  return named && dataset_tools::view_angle(named->key);
}

template <class Options>
const Options* options_of(const config::Component& component) {
  const bool is_it = component.name == config::Schema<Options>::name;
  return is_it ? &component.as<Options>() : nullptr;
}

/// What was prepared for the training of a network, if that is here.
std::optional<dataset_tools::CtSettings> settings_of_training(const data::CtConfig& config) {
  if (config.path.empty() || data::is_remote(config.path)) return std::nullopt;
  const auto manifest = dataset_tools::read_ct_manifest(config.path);
  return manifest ? std::optional(manifest->settings) : std::nullopt;
}

double fov_of(const XrayRequest& request,
              const std::optional<dataset_tools::CtSettings>& of_training,
              const models::CtCascadeConfig& model, bool warns) {
  if (request.fov_mm) return *request.fov_mm;
  if (of_training) return of_training->fov_mm;
  if (!model.source_to_isocentre_mm && warns)  // of cone beams it was compared with the data's
    base::log_warning(
        "the folder that the network was trained on (data.path) is not here, so its cubes are "
        "taken to be {} mm wide (model.fov_mm); --fov-mm says another side",
        model.fov_mm);
  return model.fov_mm;
}

std::vector<dataset_tools::XrayPatient> patients_of(const XrayRequest& request,
                                                    const std::vector<double>& angles) {
  if (!request.views.empty()) return {dataset_tools::xray_patient(request.views, angles)};
  for (const fs::path& word : request.folders) {
    std::error_code error;
    if (fs::is_directory(word, error)) continue;
    throw base::ConfigError(
        fmt::format("{}: is no folder of patients, and the network sees X-rays: say which view a "
                    "file is: {}={}",
                    word.string(), dataset_tools::view_name(angles.front()), word.string()));
  }
  return dataset_tools::list_xray_patients(request.folders, angles);
}

}  // namespace

std::map<double, fs::path> take_views(std::vector<std::string>& words) {
  std::map<double, fs::path> views;
  if (std::ranges::none_of(words, is_view)) return views;
  std::vector<std::string> others;
  for (const std::string& word : words) {
    const auto named = named_file(word);
    if (!named) {
      others.push_back(word);
      continue;
    }
    const auto angle = dataset_tools::view_angle(named->key);
    if (!angle)
      throw base::ConfigError(
          fmt::format("{}: no view is called {}; expected frontal, lateral, or an angle in degrees",
                      word, named->key));
    if (!views.emplace(*angle, named->file).second)
      throw base::ConfigError(fmt::format("{}: the {} view is named twice; leave one of them", word,
                                          dataset_tools::view_name(*angle)));
  }
  words = std::move(others);
  return views;
}

std::unique_ptr<data::Dataset> open_xrays(const XrayRequest& request, const app::Recipe& recipe,
                                          bool warns) {
  const auto* const data = options_of<data::CtConfig>(recipe.data.source);
  const auto* const model = options_of<models::CtCascadeConfig>(recipe.model.network);
  if (data == nullptr || model == nullptr)
    throw base::ConfigError(fmt::format(
        "the run trained {} on {}, and X-rays are for model ct_cascade on data ct: leave them out, "
        "and name data by data.path",
        recipe.model.network.name, recipe.data.source.name));
  const auto of_training = settings_of_training(*data);
  const bool were_flipped =
      of_training && of_training->xrays && of_training->xrays->flip_vertically;
  return std::make_unique<dataset_tools::XrayPatients>(
      patients_of(request, data->geometry.angles),
      dataset_tools::XrayPatients::Form{
          .angles = data->geometry.angles,
          .settings = {.size = model->xray_size,
                       .flip_vertically = request.flip_vertically || were_flipped},
          .constants = data::ct_constants(*data, fov_of(request, of_training, *model, warns)),
          .read_dicom = [](const fs::path& path, const std::string& name) {
            return data::load_ct_plugin().read_dicom_xray(path, name);
          }});
}

}  // namespace paceline::cli
