#include "paceline/app/assembly/weight_preprocessing.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/text.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/normalize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::app {
namespace {

using Numbers = std::array<double, 3>;

/// What is not known contradicts nothing.
bool is_close(const Numbers& here, const std::optional<Numbers>& there) {
  constexpr double kLeast = 1e-3;  // some publish three digits
  return !there || std::ranges::equal(here, *there,
                                      [](double a, double b) { return std::abs(a - b) < kLeast; });
}

std::string text_of(const Numbers& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

bool is_side(const config::Sides& sides, std::optional<int> side) {
  return !side || (sides.height() == *side && sides.width() == *side);
}

std::string both(std::string_view what, const std::string& here, const std::string& there) {
  return fmt::format("{} {} here, {} there", what, here, there);
}

void add_normalisation(const data::NormalizeConfig& here, const Preprocessing& there,
                       std::string_view where, std::vector<std::string>& found) {
  if (!is_close(here.mean, there.mean))
    found.push_back(both(fmt::format("mean{}", where), text_of(here.mean), text_of(*there.mean)));
  if (!is_close(here.std, there.std))
    found.push_back(both(fmt::format("std{}", where), text_of(here.std), text_of(*there.std)));
}

/// One line for each setting of a transform of evaluations that is another.
void add_differences(const data::TransformConfig& here, const Preprocessing& there,
                     std::vector<std::string>& found) {
  if (const auto* normalize = here.get_if<data::NormalizeConfig>()) {
    add_normalisation(*normalize, there, "", found);
  } else if (const auto* resize = here.get_if<data::ResizeConfig>()) {
    if (!is_side(resize->size, there.resize))
      found.push_back(both("resize to", resize->size.to_string(), std::to_string(*there.resize)));
    if (there.interpolation.value_or(resize->interpolation) != resize->interpolation)
      found.push_back(both("interpolation", std::string(config::enum_name(resize->interpolation)),
                           std::string(config::enum_name(*there.interpolation))));
  } else if (const auto* crop = here.get_if<data::CenterCropConfig>()) {
    if (!is_side(crop->size, there.crop))
      found.push_back(both("crop of", crop->size.to_string(), std::to_string(*there.crop)));
  }
}

/// Whether a recipe leaves the normalisation of a split to others, or has this one.
bool may_have_normalisation(const Preprocessing& known, const Recipe& recipe,
                            const Registries& registries, data::Split split) {
  const auto& written =
      split == data::Split::kTrain ? recipe.data.train_transforms : recipe.data.eval_transforms;
  if (written.empty()) return true;
  return std::ranges::any_of(
      transforms_of(recipe.data, registries, split), [&](const data::TransformConfig& transform) {
        const auto* normalize = transform.get_if<data::NormalizeConfig>();
        return normalize != nullptr && is_close(normalize->mean, known.mean) &&
               is_close(normalize->std, known.std);
      });
}

/// A network that was built for images of one size gets them, in the same proportions.
void fit_to_network(const config::Component& network, Preprocessing& known) {
  if (!known.crop || network.options == nullptr) return;
  const config::Node options = config::options_of(network);
  const config::Node* const side = options.find("img_size");
  const config::Node* const is_dynamic = options.find("dynamic_img_size");
  if (side == nullptr || (is_dynamic != nullptr && is_dynamic->text == "true")) return;
  if (!side->is_scalar()) {
    known.resize.reset();
    known.crop.reset();
    return;
  }
  const int own = std::stoi(side->text);
  if (known.resize)
    known.resize = static_cast<int>(std::int64_t{*known.resize} * own / *known.crop);
  known.crop = own;
}

/// As much of it as the recipe leaves open.
Preprocessing open_part(Preprocessing known, const Registries& registries, const Recipe& recipe) {
  if (!recipe.data.eval_transforms.empty()) {
    known.resize.reset();
    known.crop.reset();
    known.interpolation.reset();
  }
  for (const data::Split split : {data::Split::kTrain, data::Split::kVal}) {
    if (may_have_normalisation(known, recipe, registries, split)) continue;
    known.mean.reset();
    known.std.reset();
  }
  fit_to_network(recipe.model.network, known);
  return known;
}

/// The keys by which a recipe says how images are prepared.
std::vector<std::string> keys_in_use(const DataSection& data) {
  std::vector<std::string> keys;
  if (data.image_size) keys.emplace_back("data.image_size");
  if (data.preprocessing != Preprocessing()) keys.emplace_back("data.preprocessing");
  if (!data.train_transforms.empty()) keys.emplace_back("data.train_transforms");
  if (!data.eval_transforms.empty()) keys.emplace_back("data.eval_transforms");
  return keys;
}

/// What is in `now` and was not in `before`.
Preprocessing added(const Preprocessing& before, Preprocessing now) {
  if (before.mean) now.mean.reset();
  if (before.std) now.std.reset();
  if (before.resize) now.resize.reset();
  if (before.crop) now.crop.reset();
  if (before.interpolation) now.interpolation.reset();
  return now;
}

}  // namespace

Preprocessing in_words_of_recipe(const pretrained::Preprocessing& published) {
  Preprocessing known{.mean = published.mean, .std = published.std};
  if (published.resize >= published.crop) {  // else it is padded
    known.resize = published.resize;
    known.crop = published.crop;
  }
  for (const auto& name : config::EnumNames<data::Interpolation>::names) {
    if (name.name == published.interpolation) known.interpolation = name.value;
  }
  return known;
}

Preprocessing preprocessing_of(const checkpoint::Manifest& manifest, const Registries& registries) {
  const config::Node recipe =
      config::parse_yaml(manifest.config, std::string(checkpoint::kManifestFile));
  const config::Node* const known = recipe.find_path("data.preprocessing");
  return known == nullptr ? Preprocessing()
                          : config::bind<Preprocessing>(*known, registries.context(0));
}

std::string to_text(const Preprocessing& preprocessing) {
  return config::to_flow_yaml(config::to_node(config::describe<Preprocessing>(), &preprocessing));
}

Preprocessing parse_preprocessing(const std::string& text, const std::string& source,
                                  const Registries& registries) {
  return config::bind<Preprocessing>(config::parse_yaml(text, source), registries.context(0));
}

TakenPreprocessing take_preprocessing(const Preprocessing& of_weights, const Registries& registries,
                                      Recipe& recipe) {
  DataSection& data = recipe.data;
  if (!registries.datasets.build(data.source)->eval_transforms) return {};  // no images
  const std::vector<std::string> keys = keys_in_use(data);
  const Preprocessing before = data.preprocessing;
  fill_open(open_part(of_weights, registries, recipe), data.preprocessing);
  TakenPreprocessing result{
      describe(added(before, data.preprocessing)),
      contradictions(of_weights, transforms_of(data, registries, data::Split::kVal),
                     transforms_of(data, registries, data::Split::kTrain))};
  if (!result.contradictions.empty() && !keys.empty())
    result.contradictions += fmt::format(
        ". So says the recipe by {}; without, it follows the weights", base::join(keys, ", "));
  return result;
}

std::string contradictions(const Preprocessing& of_weights,
                           std::span<const data::TransformConfig> eval_transforms,
                           std::span<const data::TransformConfig> train_transforms) {
  std::vector<std::string> found;
  for (const data::TransformConfig& transform : eval_transforms)
    add_differences(transform, of_weights, found);
  for (const data::TransformConfig& transform : train_transforms) {
    if (const auto* normalize = transform.get_if<data::NormalizeConfig>())
      add_normalisation(*normalize, of_weights, " in training", found);
  }
  if (found.empty()) return {};
  return "images are prepared otherwise than for the weights of model.pretrained: " +
         base::join(found, "; ");
}

}  // namespace paceline::app
