#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/config/bind.h"
#include "paceline/config/load.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace paceline::app {

/// Which weights of the phase before a phase starts from.
enum class StartFrom { kLast, kBest };

/// A part of a run that is trained as a run of its own, from the weights of the part before.
struct Phase {
  std::string name;  ///< empty: the run has no phases and this is all of it
  int number = 1;    ///< in the order of the run
  StartFrom start_from = StartFrom::kLast;
  config::Loaded<Recipe> recipe = {};   ///< with what the phase says laid over the rest
  std::vector<std::string> notes = {};  ///< of the first: how the recipe's file was read
};

/// What a run is to do, part by part: the recipe's `phases`, the stages of a guide's document
/// (guide_json/), or the one nameless phase of a recipe that has none. `overrides` of the user
/// change the recipe, those of a program every phase.
struct PhasedRecipe {
  config::Node written;       ///< the recipe as a whole, with the user's overrides
  std::vector<Phase> phases;  ///< at least one

  bool has_phases() const { return !phases.front().name.empty(); }
};

/// Throws one ConfigError that lists all problems of all phases.
PhasedRecipe load_phases(const std::filesystem::path& path, const config::Overrides& overrides,
                         const config::BindContext& context);

/// Every value of a recipe as written, but for paths, which may differ from node to node.
config::Node resolved_without_paths(const config::Node& written,
                                    const config::BindContext& context);

/// The sections of a resolved recipe as text, by their keys: what ranks agree on.
std::map<std::string, std::string> section_texts(const config::Node& resolved);

/// The phase of that name, or the first. Throws ConfigError if there is none of it.
const Phase& phase_of(const PhasedRecipe& recipe, const std::string& name);

/// phase_of() as a recipe without phases: it starts from no other's weights, and leaves none that a
/// later phase needs.
PhasedRecipe load_one_phase(const std::filesystem::path& path, const config::Overrides& overrides,
                            const std::string& name, const config::BindContext& context);

}  // namespace paceline::app
