#include "paceline/app/recipe/phases.h"

#include "paceline/app/recipe/read_recipe.h"
#include "paceline/app/run_directory/phase_folders.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/merge.h"
#include "paceline/config/override.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

namespace paceline::app {
namespace {

using config::Node;

constexpr std::string_view kStartFrom = "start_from";

/// The whole run's, so no phase can have its own.
constexpr std::array<std::string_view, 4> kOfTheRun{"run", "phases", "checkpoint.dir", "extends"};

const config::StructInfo& schema() { return config::describe<Recipe>(); }

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

void check_name(const config::MapEntry& phase, config::Problems& problems) {
  if (!phase.key.empty() && std::ranges::all_of(phase.key, is_plain)) return;
  problems.add({phase.position, config::join_path("phases", phase.key),
                "a phase's name is of letters, digits, '-' and '_': a folder is named so"});
}

void check_keys(const config::MapEntry& phase, bool is_first, config::Problems& problems) {
  const auto refuse = [&](std::string_view key, std::string_view why) {
    const Node* const value = phase.value.find_path(key);
    if (value == nullptr) return;
    problems.add({value->position, fmt::format("phases.{}.{}", phase.key, key), std::string(why)});
  };
  for (const std::string_view key : kOfTheRun)
    refuse(key, "is the whole run's: write it outside of the phases");
  if (is_first) {
    refuse(kStartFrom, "there is no phase before the first; weights are model.pretrained's");
  } else {
    refuse("model.pretrained",
           "a phase starts from the weights of the one before: take it out (start_from: best for "
           "its best)");
  }
}

StartFrom take_start(Node& part, const std::string& phase, config::Problems& problems) {
  const Node* const found = part.find(kStartFrom);
  if (found == nullptr) return StartFrom::kLast;
  const Node value = *found;
  part.erase(kStartFrom);
  if (value.text == "best") return StartFrom::kBest;
  if (value.text != "last") {
    problems.add({value.position, fmt::format("phases.{}.{}", phase, kStartFrom),
                  fmt::format("must be one of last, best, got {}", value.describe())});
  }
  return StartFrom::kLast;
}

/// An override of the recipe that the phase takes the effect from would be lost in silence.
void report_lost(const Node& whole, const Node& of_phase, const std::string& phase,
                 const std::string& path, config::Problems& problems) {
  if (whole.is_map()) {
    for (const config::MapEntry& entry : whole.entries) {
      if (path.empty() && entry.key == "phases") continue;
      report_lost(entry.value, of_phase, phase, config::join_path(path, entry.key), problems);
    }
    return;
  }
  const std::optional<std::string> text = config::override_of(whole);
  if (!text) return;
  const Node* now = of_phase.find_path(path);
  if (now != nullptr && now->is_map() && whole.is_scalar()) now = now->find("name");
  if (now != nullptr && config::same_value(whole, *now)) return;
  problems.add({whole.position, path,
                fmt::format("has no effect in the phase {}, which says otherwise: write "
                            "++phases.{}.{}",
                            phase, phase, *text)});
}

/// Of parts that go wrong in the same way each problem once.
void add_new(const config::Problems& more, config::Problems& problems) {
  for (const config::Problem& problem : more.all()) {
    const bool is_known = std::ranges::any_of(problems.all(), [&](const config::Problem& other) {
      return other.position == problem.position && other.key == problem.key &&
             other.text == problem.text;
    });
    if (!is_known) problems.add(problem);
  }
}

/// Checkpoints of phases that shared a folder would be one run's.
void give_own_folder(Phase& phase) {
  Node* const checkpoint = phase.recipe.written.find("checkpoint");
  Node* const folder = checkpoint != nullptr ? checkpoint->find("dir") : nullptr;
  if (folder != nullptr && folder->is_scalar())
    folder->text += "/" + phase_folder_name(phase.number, phase.name);
}

Phase make_phase(const Node& whole, const config::MapEntry& part, int number,
                 const std::vector<std::string>& on_top, const config::BindContext& context,
                 config::Problems& problems) {
  check_name(part, problems);
  if (!part.value.is_map() && !part.value.is_null()) {
    problems.add({part.value.position, config::join_path("phases", part.key),
                  fmt::format("must be a section of a recipe's keys, or empty, got {}",
                              part.value.describe())});
  }
  check_keys(part, number == 1, problems);
  Phase phase{.name = part.key, .number = number};
  Node own = part.value.is_map() ? part.value : Node::map();
  phase.start_from = take_start(own, part.key, problems);
  for (const std::string_view key : kOfTheRun) own.erase(key);
  Node base = whole;
  base.erase("phases");
  phase.recipe.written = config::merge(base, own, schema());
  report_lost(base, phase.recipe.written, phase.name, "", problems);
  config::override_recipe(phase.recipe.written, {{}, on_top}, schema(), problems);
  give_own_folder(phase);
  config::Problems of_phase;
  config::bind(phase.recipe.written, schema(), &phase.recipe.value, context, of_phase);
  add_new(of_phase, problems);
  return phase;
}

/// What the phase after this one needs of it.
void check_successor(const Phase& phase, const Phase& next, config::Problems& problems) {
  const Recipe& recipe = phase.recipe.value;
  const auto refuse = [&](std::string_view key, std::string_view what) {
    problems.add({{},
                  config::join_path("phases." + phase.name, key),
                  fmt::format("the phase {} starts from {}", next.name, what)});
  };
  if (!recipe.checkpoint.every) {
    refuse("checkpoint.every", "a checkpoint of this one, which saves none: write a duration");
  } else if (next.start_from == StartFrom::kBest &&
             (recipe.checkpoint.keep_best == 0 || !recipe.train.eval_every)) {
    refuse("checkpoint.keep_best",
           "the best checkpoint of this one, which keeps none: set it and train.eval_every");
  }
}

PhasedRecipe read_phases(const std::filesystem::path& path, const config::Overrides& overrides,
                         const config::BindContext& context, config::Problems& problems) {
  PhasedRecipe recipe;
  WrittenRecipe read = read_recipe(path, overrides.of_user, problems);
  recipe.written = std::move(read.node);
  const Node* const parts = recipe.written.find("phases");
  if (parts == nullptr || !parts->is_map() || parts->entries.empty()) {
    Phase all{.name = ""};
    all.recipe.written = recipe.written;
    config::override_recipe(all.recipe.written, {{}, overrides.on_top}, schema(), problems);
    config::bind(all.recipe.written, schema(), &all.recipe.value, context, problems);
    recipe.phases.push_back(std::move(all));
    return recipe;
  }
  for (const config::MapEntry& part : parts->entries) {
    const int number = static_cast<int>(recipe.phases.size()) + 1;
    recipe.phases.push_back(
        make_phase(recipe.written, part, number, overrides.on_top, context, problems));
  }
  recipe.phases.front().notes = std::move(read.notes);
  return recipe;
}

}  // namespace

PhasedRecipe load_phases(const std::filesystem::path& path, const config::Overrides& overrides,
                         const config::BindContext& context) {
  config::Problems problems;
  PhasedRecipe recipe = read_phases(path, overrides, context, problems);
  for (std::size_t i = 1; i < recipe.phases.size() && problems.empty(); ++i)
    check_successor(recipe.phases[i - 1], recipe.phases[i], problems);
  problems.throw_if_any();
  return recipe;
}

config::Node resolved_without_paths(const config::Node& written,
                                    const config::BindContext& context) {
  config::BindContext without_paths = context;
  without_paths.resolve_path = [](const std::string&) { return std::string(); };
  const auto recipe = config::bind<Recipe>(written, without_paths);
  return config::to_node(schema(), &recipe);
}

std::map<std::string, std::string> section_texts(const config::Node& resolved) {
  std::map<std::string, std::string> texts;
  for (const config::MapEntry& section : resolved.entries)
    texts[section.key] = config::to_flow_yaml(section.value);
  return texts;
}

const Phase& phase_of(const PhasedRecipe& recipe, const std::string& name) {
  if (name.empty()) return recipe.phases.front();
  std::vector<std::string> names;
  for (const Phase& phase : recipe.phases) {
    if (phase.name == name) return phase;
    names.push_back(phase.name);
  }
  throw base::ConfigError(
      recipe.has_phases()
          ? fmt::format("--phase {}: the recipe has the phases {}", name, base::join(names, ", "))
          : fmt::format("--phase {}: the recipe has no phases", name));
}

PhasedRecipe load_one_phase(const std::filesystem::path& path, const config::Overrides& overrides,
                            const std::string& name, const config::BindContext& context) {
  config::Problems problems;
  const PhasedRecipe recipe = read_phases(path, overrides, context, problems);
  problems.throw_if_any();
  const Phase& phase = phase_of(recipe, name);
  Phase alone{.name = "", .recipe = phase.recipe, .notes = phase.notes};
  return {.written = alone.recipe.written, .phases = {std::move(alone)}};
}

}  // namespace paceline::app
