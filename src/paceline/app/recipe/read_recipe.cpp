#include "paceline/app/recipe/read_recipe.h"

#include "paceline/app/recipe/guide_json/strict_json.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/config/parse.h"
#include "paceline/config/struct_info.h"
#include "paceline/data/sources/ct/ct_set.h"

#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using config::Node;

/// X-rays are turned where they are prepared, so what the document says is compared with what that
/// folder says of itself. Folders that cannot be read are told when they are opened.
void check_turned_xrays(const Node& document, const Node& recipe, config::Problems& problems) {
  const Node* const flip = document.find_path("data.flip_drrs_vertical");
  const Node* const path = recipe.find_path("data.path");
  if (flip == nullptr || !flip->is_scalar() || path == nullptr || !path->is_scalar()) return;
  std::optional<bool> is_flipped;
  try {
    const auto file = std::filesystem::path(path->text) / data::kCtManifestName;
    const nlohmann::json manifest = base::parse_json(base::read_file(file));
    if (manifest.contains("xrays")) is_flipped = manifest.at("xrays").at("flip_vertically");
  } catch (const base::Error&) {
    return;
  } catch (const nlohmann::json::exception&) {
    return;
  }
  const bool is_wanted = flip->text == "true";
  if (!is_flipped || *is_flipped == is_wanted) return;
  problems.add({flip->position, "data.flip_drrs_vertical",
                fmt::format("is {}, but {} was prepared {} --flip-xrays-vertical, where X-rays are "
                            "turned: run `paceline data prepare ct SRC DST{}` and name DST, or "
                            "write {}",
                            is_wanted, path->text, *is_flipped ? "with" : "without",
                            is_wanted ? " --flip-xrays-vertical" : "", *is_flipped)});
}

}  // namespace

WrittenRecipe read_recipe(const std::filesystem::path& path, const config::Overrides& overrides,
                          config::Problems& problems) {
  const config::StructInfo& info = config::describe<Recipe>();
  const std::string extension = path.extension().string();
  if (extension != ".json" && extension != ".jsonc")
    return {config::load_recipe(path, overrides, info, problems)};
  const Node document = config::parse_file(path);
  if (!is_guide_document(document)) return {config::load_recipe(path, overrides, info, problems)};
  refuse_trailing_commas(base::read_file(path), path.string());
  WrittenRecipe recipe = guide_recipe(document, problems);
  config::override_recipe(recipe.node, overrides, info, problems);
  check_turned_xrays(document, recipe.node, problems);
  return recipe;
}

}  // namespace paceline::app
