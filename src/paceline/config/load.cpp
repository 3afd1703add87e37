#include "paceline/config/load.h"

#include "paceline/base/error.h"
#include "paceline/config/merge.h"
#include "paceline/config/override.h"
#include "paceline/config/parse.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace paceline::config {
namespace {

namespace fs = std::filesystem;

std::vector<Node> bases_of(const Node& recipe) {
  const Node* extends = recipe.find("extends");
  if (extends == nullptr || extends->is_null()) return {};
  std::vector<Node> bases = extends->is_list() ? extends->items : std::vector<Node>{*extends};
  for (const Node& base : bases) {
    if (!base.is_scalar()) {
      throw base::ConfigError(fmt::format("{}: extends: must be a file or a list of files, got {}",
                                          extends->position.to_string(), extends->describe()));
    }
  }
  return bases;
}

// `chain` are the files that led here.
Node load_file(const fs::path& path, const StructInfo& info, std::vector<fs::path> chain) {
  chain.push_back(fs::weakly_canonical(path));
  const Node recipe = parse_file(path);
  Node merged = Node::map();
  for (const Node& base : bases_of(recipe)) {
    const fs::path base_path = (path.parent_path() / base.text).lexically_normal();
    if (std::find(chain.begin(), chain.end(), fs::weakly_canonical(base_path)) != chain.end()) {
      throw base::ConfigError(
          fmt::format("{}: extends: {} extends itself in a circle; remove this line",
                      base.position.to_string(), base_path.string()));
    }
    try {
      merged = merge(merged, load_file(base_path, info, chain), info);
    } catch (const base::ConfigError& error) {
      // The name of the file that cannot be read is not where the mistake is.
      if (fs::exists(base_path)) throw;
      throw base::ConfigError(
          fmt::format("{}: extends: {}", base.position.to_string(), error.what()));
    }
  }
  merged = merge(merged, recipe, info);
  merged.erase("extends");
  return merged;
}

}  // namespace

Node load_recipe(const fs::path& path, std::span<const std::string> overrides,
                 const StructInfo& info, Problems& problems) {
  Node recipe = load_file(path, info, {});
  apply_overrides(recipe, overrides, info, problems);
  return recipe;
}

}  // namespace paceline::config
