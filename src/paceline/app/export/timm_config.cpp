#include "paceline/app/export/timm_config.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/export/exported_model.h"
#include "paceline/config/write.h"
#include "paceline/data/transforms/interpolation.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/normalize.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace paceline::app {
namespace {

using Json = nlohmann::ordered_json;

/// Settings that are no part of an architecture, or that timm has under another name.
constexpr std::array<std::string_view, 12> kOtherSettings{
    "num_classes",           "in_channels",    "img_size", "drop_rate",          "drop_path_rate",
    "pos_drop_rate",         "proj_drop_rate", "fused",    "zero_init_residual", "attn_drop_rate",
    "stochastic_depth_prob", "dropout"};

/// Whose names and modules timm's model of the same name has; torchvision's ResNets are timm's.
bool has_timm_twin(const std::string& name) {
  constexpr std::array<std::string_view, 8> kOwn{"resnet9",
                                                 "resnet20",
                                                 "resnet32",
                                                 "resnet44",
                                                 "resnet56",
                                                 "resnet110",
                                                 "vit_tiny_patch32_224",
                                                 "resnet"};
  if (std::ranges::find(kOwn, name) != kOwn.end()) return false;
  return std::ranges::any_of(
      std::array<std::string_view, 5>{"resnet", "resnext", "wide_resnet", "vit_", "convnext"},
      [&](std::string_view start) {
        return name.starts_with(start) && name.size() > start.size();
      });
}

/// The settings of a model that are not its named one's, by key.
config::Node changed_settings(const Recipe& recipe, const Registries& registries) {
  const config::Component& model = recipe.model.network;
  const config::ComponentEntry& entry = *registries.models.find(model.name);
  const config::Node defaults = config::to_node(*entry.info, entry.make().get());
  config::Node changed = config::options_of(model);
  std::erase_if(changed.entries, [&](const config::MapEntry& value) {
    const config::Node* const usual = defaults.find(value.key);
    return usual != nullptr && config::same_value(value.value, *usual);
  });
  return changed;
}

std::string problem_of(const Recipe& recipe, const config::Node& changed,
                       const checkpoint::Manifest& manifest) {
  const std::string& name = recipe.model.network.name;
  if (!has_timm_twin(name)) return fmt::format("timm has no {} with these names", name);
  for (const config::MapEntry& value : changed.entries) {
    if (std::ranges::find(kOtherSettings, value.key) == kOtherSettings.end())
      return fmt::format("timm's {} has no model.{}", name, value.key);
  }
  if (manifest.surgery && !manifest.surgery->empty())
    return fmt::format("timm's {} is not changed by {}", name, manifest.surgery->front().algorithm);
  return {};
}

/// What timm.create_model() is to be given besides the name.
Json model_arguments(const config::Node& changed) {
  Json arguments = Json::object();
  for (const config::MapEntry& value : changed.entries) {
    if (value.key == "img_size") arguments["img_size"] = std::stoi(value.value.text);
    if (value.key == "in_channels") arguments["in_chans"] = std::stoi(value.value.text);
  }
  return arguments;
}

std::string_view interpolation_name(data::Interpolation interpolation) {
  return interpolation == data::Interpolation::kBicubic ? "bicubic" : "bilinear";
}

/// How evaluations prepare images, in timm's words.
void add_preprocessing(const Recipe& recipe, const Registries& registries, Json& json) {
  std::optional<config::Sides> resized;
  std::optional<config::Sides> cropped;
  std::string_view interpolation = "bilinear";
  data::NormalizeConfig normalize;
  for (const data::TransformConfig& transform :
       transforms_of(recipe.data, registries, data::Split::kVal)) {
    if (const auto* resize = transform.get_if<data::ResizeConfig>()) {
      resized = resize->size;
      interpolation = interpolation_name(resize->interpolation);
    } else if (const auto* crop = transform.get_if<data::CenterCropConfig>()) {
      cropped = crop->size;
    } else if (const auto* values = transform.get_if<data::NormalizeConfig>()) {
      normalize = *values;
    }
  }
  const auto size = cropped ? cropped : resized;
  if (size) json["input_size"] = {3, size->height(), size->width()};
  json["interpolation"] = interpolation;
  json["crop_pct"] =
      cropped && resized ? static_cast<double>(cropped->shorter()) / resized->shorter() : 1.0;
  json["crop_mode"] = "center";
  json["mean"] = normalize.mean;
  json["std"] = normalize.std;
}

/// Of the classifier's input; nothing if the network has no linear one.
std::optional<std::int64_t> num_features(const checkpoint::Manifest& manifest,
                                         const std::string& head) {
  const auto found =
      std::ranges::find(manifest.tensors, head + ".weight", &checkpoint::TensorRecord::name);
  if (found == manifest.tensors.end() || found->shape.size() != 2) return std::nullopt;
  return found->shape[1];
}

}  // namespace

TimmConfig timm_config(const Recipe& recipe, const checkpoint::Manifest& manifest,
                       const Registries& registries) {
  const config::Node changed = changed_settings(recipe, registries);
  TimmConfig config{Json::object(), problem_of(recipe, changed, manifest)};
  Json& json = config.json;
  json["architecture"] = recipe.model.network.name;
  Json pretrained{{"custom_load", false}};
  add_preprocessing(recipe, registries, pretrained);
  const std::vector<std::string> heads = make_task(recipe, registries)->network().head_names();
  if (!heads.empty()) {
    const auto head = std::ranges::find(manifest.tensors, heads.front() + ".weight",
                                        &checkpoint::TensorRecord::name);
    if (head != manifest.tensors.end() && !head->shape.empty()) {
      json["num_classes"] = head->shape[0];
      pretrained["num_classes"] = head->shape[0];
    }
    if (const auto features = num_features(manifest, heads.front()))
      json["num_features"] = *features;
    pretrained["classifier"] = heads.front();
  }
  const Json arguments = model_arguments(changed);
  if (arguments.contains("in_chans") && pretrained.contains("input_size"))
    pretrained["input_size"][0] = arguments["in_chans"];
  json["pretrained_cfg"] = std::move(pretrained);
  if (!arguments.empty()) json["model_args"] = arguments;
  if (!manifest.class_names.empty()) json["label_names"] = manifest.class_names;
  json[std::string(kOwnKey)] = describe_for_export(recipe, manifest, registries);
  return config;
}

}  // namespace paceline::app
