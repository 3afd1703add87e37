#include "paceline/app/recipe/derived_values.h"

#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe_parts.h"
#include "paceline/base/error.h"
#include "paceline/train/precision.h"

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
  if (plan->train_transforms && !data.image_size &&
      (data.train_transforms.empty() || data.eval_transforms.empty())) {
    derived["data.image_size"] =
        fmt::format("{}, as usual for {}", plan->default_image_size, data.source.name);
  }
  if (plan->train_transforms && data.train_transforms.empty()) {
    const config::Sides size = data.image_size.value_or(plan->default_image_size);
    config::Node transforms = config::Node::list();
    for (const auto& transform : plan->train_transforms(size, data.augmentation))
      transforms.items.push_back(transform->written());
    derived["data.train_transforms"] = fmt::format("{}: {}", config::enum_name(data.augmentation),
                                                   config::to_flow_yaml(transforms));
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
    } else if (config::Node* value = section->find(key.substr(dot + 1))) {
      value->comment = text;
    }
  }
}

}  // namespace paceline::app
