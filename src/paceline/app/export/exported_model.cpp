#include "paceline/app/export/exported_model.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/weight_preprocessing.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/hash.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "paceline/pretrained/preprocessing.h"

#include <array>

namespace paceline::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfigName = "config.json";
constexpr std::uint64_t kLongestConfig = std::uint64_t{16} << 20;  // bytes; it names all classes

nlohmann::json read_config(const fs::path& file) {
  try {
    return base::parse_json(base::read_file(file, kLongestConfig));
  } catch (const base::JsonError& error) {
    throw base::DataError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

/// A recipe's model in timm's words.
nlohmann::json model_by_timm(const nlohmann::json& config, const std::string& name,
                             const Registries& registries) {
  const config::ComponentEntry* const entry = registries.models.find(name);
  const nlohmann::json arguments = config.value("model_args", nlohmann::json::object());
  nlohmann::json model = arguments.is_object() ? arguments : nlohmann::json::object();
  if (model.contains("in_chans")) {
    model["in_channels"] = model["in_chans"];
    model.erase("in_chans");
  }
  model["name"] = name;
  if (config.contains("num_classes") && entry->info->find("num_classes") != nullptr)
    model["num_classes"] = config["num_classes"];
  return model;
}

/// The sections of a recipe that paceline wrote, and no others.
nlohmann::json own_sections(const nlohmann::json& own) {
  nlohmann::json recipe = nlohmann::json::object();
  for (const char* const section : {"model", "task", "loss", "data"}) {
    if (own.contains(section)) recipe[section] = own[section];
  }
  return recipe;
}

nlohmann::json timms_sections(const nlohmann::json& config, const fs::path& file,
                              const std::string& name, const Registries& registries) {
  nlohmann::json recipe{{"model", model_by_timm(config, name, registries)}};
  const auto published = pretrained::preprocessing_in_config(file);
  if (!published) return recipe;
  const Preprocessing images = in_words_of_recipe(*published);
  recipe["data"]["preprocessing"] = base::parse_json(
      config::to_json(config::to_node(config::describe<Preprocessing>(), &images)));
  return recipe;
}

[[noreturn]] void refuse_model(const fs::path& file, const std::string& name,
                               const Registries& registries) {
  std::vector<std::string> names;
  for (const auto& [known, entry] : registries.models.entries()) names.push_back(known);
  const std::string near = base::nearest_name(name, names);
  throw base::ConfigError(fmt::format(
      "{}: its architecture is {}, expected the name of a model (`paceline list models`){}",
      file.string(), name.empty() ? "not told" : fmt::format("'{}'", base::excerpt(name)),
      near.empty() ? "" : fmt::format(", such as {}", near)));
}

std::vector<std::string> class_names_in(const nlohmann::json& config) {
  std::vector<std::string> names;
  const auto told = config.find("label_names");
  if (told == config.end() || !told->is_array()) return names;
  for (const nlohmann::json& name : *told) {
    if (!name.is_string()) return {};
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

nlohmann::ordered_json describe_for_export(const Recipe& recipe,
                                           const checkpoint::Manifest& manifest,
                                           const Registries& registries) {
  // How it began, and what of it was trained, are no part of the network.
  constexpr std::array kOfTraining{"pretrained", "pretrained_key", "pretrained_strict", "freeze",
                                   "freeze_batch_norm"};
  const config::Node all = config::to_node(config::describe<Recipe>(), &recipe);
  config::Node own = config::Node::map();
  for (const char* const section : {"model", "task", "loss"}) own.set(section, *all.find(section));
  for (const char* const key : kOfTraining) own.find("model")->erase(key);
  config::Node transforms = config::Node::list();
  for (const data::TransformConfig& transform :
       transforms_of(recipe.data, registries, data::Split::kVal))
    transforms.items.push_back(transform->written());
  config::Node& images = own.set("data", config::Node::map());
  images.set("eval_transforms", std::move(transforms));
  images.set("exif", *all.find_path("data.exif"));
  auto json = base::parse_ordered_json(config::to_json(own));
  json["step"] = manifest.step;
  return json;
}

std::optional<fs::path> find_exported_weights(const fs::path& named) {
  const bool is_folder = base::folder_exists(named);
  const fs::path folder = is_folder ? named : named.parent_path();
  if (!base::file_exists(folder / kConfigName)) return std::nullopt;
  if (!is_folder) return fs::is_regular_file(named) ? std::optional(named) : std::nullopt;
  fs::path found = locate_weights(named.string());
  return fs::is_regular_file(found) ? std::optional(std::move(found)) : std::nullopt;
}

ExportedModel read_exported_model(const fs::path& weights, const Registries& registries) try {
  const fs::path file = weights.parent_path() / kConfigName;
  const nlohmann::json config = read_config(file);
  const nlohmann::json own = config.is_object()
                                 ? config.value(std::string(kOwnKey), nlohmann::json::object())
                                 : nlohmann::json::object();
  const std::string name = config.is_object() ? config.value("architecture", std::string()) : "";
  if (name.empty() || registries.models.find(name) == nullptr) refuse_model(file, name, registries);
  const nlohmann::json sections =
      own.contains("model") ? own_sections(own) : timms_sections(config, file, name, registries);
  ExportedModel model{weights, config::parse_yaml(sections.dump(), file.string()),
                      class_names_in(config), own.value("step", std::int64_t{0})};
  return model;
} catch (const nlohmann::json::exception& error) {
  throw base::DataError(fmt::format("{}: is not as timm and `paceline export` write it: {}",
                                    (weights.parent_path() / kConfigName).string(), error.what()));
}

std::string fingerprint_of_exported(const fs::path& weights) {
  const base::MappedFile file(weights);
  const base::MappedFile config(weights.parent_path() / kConfigName);
  return base::xxh3_128_hex(file.bytes()) + base::xxh3_128_hex(config.bytes());
}

}  // namespace paceline::app
