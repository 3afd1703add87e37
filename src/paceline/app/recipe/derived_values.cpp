#include "paceline/app/recipe/derived_values.h"

#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/recipe/recipe_parts.h"
#include "paceline/app/recipe/usual_transforms.h"
#include "paceline/base/error.h"
#include "paceline/config/write.h"
#include "paceline/pretrained/weight_source.h"
#include "paceline/train/precision.h"

#include <string_view>

#include <fmt/format.h>

namespace paceline::app {
namespace {

std::string source_of_outputs(const Recipe& recipe, const config::Node& written,
                              const Registries& registries) try {
  const auto of_task = num_outputs_of_task(recipe, written, registries);
  return of_task ? fmt::format("from task {}: {}", recipe.task.name, *of_task) : "from the data";
} catch (const base::ConfigError&) {
  return "unknown before the recipe is sound";  // whose keys are told all the same
}

/// What comes with the weights, where it is known before they are here.
void add_preprocessing(const Recipe& recipe, const config::Node& written,
                       config::DerivedValues& derived) {
  const auto& pretrained = recipe.model.pretrained;
  if (!pretrained) return;
  const config::Node values =
      config::to_node(config::describe<Preprocessing>(), &recipe.data.preprocessing);
  for (const config::MapEntry& value : values.entries) {
    const std::string key = "data.preprocessing." + value.key;
    if (written.find_path(key) != nullptr) continue;
    if (!value.value.is_null())
      derived[key] = config::to_flow_yaml(value.value) + ", of the weights of model.pretrained";
    else if (pretrained::is_weight_source(*pretrained))
      derived[key] = "as the weights of model.pretrained were published with, if that is told";
  }
}

/// The images of a data set where the recipe says nothing of their size or transforms.
void add_images(const Recipe& recipe, const data::DatasetPlan& plan,
                config::DerivedValues& derived) {
  const DataSection& data = recipe.data;
  if (!data.image_size && (data.train_transforms.empty() || data.eval_transforms.empty())) {
    derived["data.image_size"] =
        fmt::format("{}, {}", image_size_of(data, plan).to_string(),
                    data.preprocessing.crop ? "by data.preprocessing.crop"
                                            : "as usual for " + data.source.name);
  }
  if (!data.train_transforms.empty()) return;
  config::Node transforms = config::Node::list();
  for (const auto& transform : usual_transforms(data, plan, data::Split::kTrain))
    transforms.items.push_back(transform->written());
  derived["data.train_transforms"] =
      fmt::format("{}: {}", config::enum_name(data.augmentation), config::to_flow_yaml(transforms));
}

/// The value under a path such as "preprocessing.mean", or nullptr.
config::Node* find_below(config::Node& section, std::string_view path) {
  const std::size_t dot = path.find('.');
  config::Node* const value = section.find(path.substr(0, dot));
  if (dot == std::string_view::npos || value == nullptr) return value;
  return find_below(*value, path.substr(dot + 1));
}

}  // namespace

config::DerivedValues derived_values(const Recipe& recipe, const config::Node& written,
                                     const Registries& registries) {
  config::DerivedValues derived;
  if (leaves_outputs_open(recipe, written))
    derived[kNumClasses] = source_of_outputs(recipe, written, registries);
  const auto precision = train::choose_precision(recipe.train.precision, at::kCPU);
  if (precision.precision != recipe.train.precision) {
    derived["train.precision"] =
        fmt::format("auto: {} on a CPU such as this ({}), a GPU's own choice on a GPU",
                    config::enum_name(precision.precision), precision.reason);
  }
  const DataSection& data = recipe.data;
  if (!data.global_batch_size && !data.batch_size_per_rank)
    derived["data.global_batch_size"] =
        fmt::format("{}, as no batch size is written", global_batch_size_of(data, 1));
  const auto plan = registries.datasets.build(data.source);
  if (plan->train_transforms) {
    add_images(recipe, *plan, derived);
    add_preprocessing(recipe, written, derived);
  }
  if (!recipe.checkpoint.monitor)
    derived["checkpoint.monitor"] = "the task's first metric, or val/loss where it has none";
  if (!recipe.checkpoint.mode) derived["checkpoint.mode"] = "min for a loss, max for all else";
  if (!data.num_threads) derived["data.num_threads"] = "a rank's share of the cores";
  return derived;
}

void comment_derived(const config::DerivedValues& derived, bool knows_data,
                     config::Node& resolved) {
  for (const auto& [key, text] : derived) {
    const std::size_t dot = key.find('.');
    config::Node* const section = resolved.find(key.substr(0, dot));
    if (section == nullptr) continue;
    if (key == kNumClasses && !knows_data) {
      section->erase("num_classes");
      if (config::Node* name = section->find("name")) name->comment = "num_classes comes " + text;
    } else if (config::Node* value = find_below(*section, key.substr(dot + 1))) {
      value->comment = text;
    }
  }
}

}  // namespace paceline::app
