#include "paceline/app/recipe/recipe_parts.h"

#include "paceline/base/error.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace paceline::app {
namespace {

/// The model with another num_classes.
config::Component with_num_classes(const config::Component& model, int num_classes,
                                   const std::string& task, const Registries& registries) {
  config::Node options = config::options_of(model);
  config::Node* const option = options.find("num_classes");
  if (option == nullptr) {
    throw base::ConfigError(
        fmt::format("model.name: task {} needs a network of {} outputs, and {} has no num_classes "
                    "to set: choose another model",
                    task, num_classes, model.name));
  }
  *option = config::Node::scalar(std::to_string(num_classes));
  return config::bind_component(*registries.models.find(model.name), options,
                                registries.context(/*world_size=*/0));
}

}  // namespace

std::shared_ptr<nn::Network> RecipeParts::make_network(std::optional<int> num_outputs) {
  const config::Component& model = recipe_.model.network;
  if (num_outputs && num_outputs_.value_or(*num_outputs) != *num_outputs) {
    throw base::ConfigError(
        fmt::format("task {} makes networks of {} and of {} outputs, and model.num_classes is one "
                    "number: give its second network options of its own",
                    recipe_.task.name, *num_outputs_, *num_outputs));
  }
  if (num_outputs) num_outputs_ = num_outputs;
  if (!num_outputs) return registries_.models.build(model);
  return registries_.models.build(
      with_num_classes(model, *num_outputs, recipe_.task.name, registries_));
}

std::shared_ptr<nn::Loss> RecipeParts::make_loss() {
  has_made_loss_ = true;
  return registries_.losses.build(recipe_.loss);
}

bool leaves_outputs_open(const Recipe& recipe, const config::Node& written) {
  const auto& options = recipe.model.network.info->fields;
  return written.find_path(kNumClasses) == nullptr &&
         std::ranges::find(options, "num_classes", &config::FieldInfo::name) != options.end();
}

std::optional<int> num_outputs_of_task(const Recipe& recipe, const config::Node& written,
                                       const Registries& registries) {
  RecipeParts parts(recipe, registries);
  static_cast<void>(registries.tasks.build(recipe.task, parts));
  const config::Node* const said = written.find_path(kNumClasses);
  if (parts.num_outputs() && said != nullptr &&
      said->text != std::to_string(*parts.num_outputs())) {
    throw base::ConfigError(
        fmt::format("{} is {}, and task {} needs a network of {} outputs, whatever the data: take "
                    "the key out",
                    kNumClasses, said->text, recipe.task.name, *parts.num_outputs()));
  }
  return parts.num_outputs();
}

}  // namespace paceline::app
