#include "paceline/app/export/model_card.h"

#include "paceline/base/text.h"
#include "paceline/checkpoint/surgery.h"

#include <fmt/format.h>

namespace paceline::app {
namespace {

constexpr std::size_t kMostClasses = 20;

/// What the Hub reads.
std::string front_matter(const TimmConfig& config) {
  return fmt::format("---\ntags:\n- image-classification\n{}- paceline\nlibrary_name: {}\n---\n",
                     config.problem.empty() ? "- timm\n" : "",
                     config.problem.empty() ? "timm" : "paceline");
}

std::string usage(const Recipe& recipe, const TimmConfig& config) {
  std::string text = "## Use\n\n";
  if (config.problem.empty()) {
    text +=
        "```python\nimport timm\n\nmodel = timm.create_model('local-dir:FOLDER', pretrained=True)\n"
        "transform = "
        "timm.data.create_transform(**timm.data.resolve_model_data_config(model))\n```\n\n";
  } else {
    text += fmt::format("timm does not build this model: {}.\n\n", config.problem);
  }
  return text + fmt::format("```\npaceline train RECIPE model={} model.pretrained=FOLDER\n```\n\n",
                            recipe.model.network.name);
}

std::string facts(const Recipe& recipe, const checkpoint::Manifest& manifest,
                  const TimmConfig& config, const std::string& weights) {
  std::string text = fmt::format("- model: {}\n- data set: {}\n- optimizer steps: {}\n",
                                 recipe.model.network.name, recipe.data.source.name, manifest.step);
  if (manifest.monitored)
    text += fmt::format("- {}: {:.4f}\n", manifest.monitored->name, manifest.monitored->value);
  if (!weights.empty()) text += fmt::format("- weights: those of {}\n", weights);
  const auto& images = config.json["pretrained_cfg"];
  if (images.contains("input_size"))
    text += fmt::format("- images: {} (channels, height, width), {}, mean {}, std {}\n",
                        images["input_size"].dump(), images["interpolation"].get<std::string>(),
                        images["mean"].dump(), images["std"].dump());
  if (!manifest.class_names.empty())
    text += fmt::format("- {} classes: {}\n", manifest.class_names.size(),
                        base::join_first(manifest.class_names, kMostClasses));
  for (const checkpoint::Surgery& surgery : manifest.surgery.value_or(checkpoint::SurgeryRecord()))
    text += fmt::format("- the network was changed: {}\n", describe(surgery));
  return text + "\n";
}

}  // namespace

std::string model_card(const Recipe& recipe, const checkpoint::Manifest& manifest,
                       const TimmConfig& config, const std::string& weights) {
  return fmt::format("{}# {}\n\n{}{}## Recipe\n\nAs paceline resolved it:\n\n```yaml\n{}{}```\n",
                     front_matter(config), recipe.run.name,
                     facts(recipe, manifest, config, weights), usage(recipe, config),
                     manifest.config, manifest.config.ends_with('\n') ? "" : "\n");
}

}  // namespace paceline::app
