#include "paceline/app/model_report.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"

#include <algorithm>

namespace paceline::cli {
namespace {

void print_catalog(const config::ComponentCatalog& catalog) {
  std::size_t width = 0;
  for (const auto& [name, entry] : catalog.entries()) width = std::max(width, name.size());
  for (const auto& [name, entry] : catalog.entries()) {
    fmt::print("  {:<{}}  {}\n", name, width, entry.summary);
  }
  if (catalog.entries().empty()) fmt::print("  none\n");
}

/// "models" for "model", if such a kind is among the names; else the word.
std::string plural_of(const std::string& word, const std::vector<std::string>& names) {
  for (const char* ending : {"s", "es"}) {
    if (std::ranges::find(names, word + ending) != names.end()) return word + ending;
  }
  return word;
}

}  // namespace

int run_list(const std::vector<std::string>& arguments, const app::Registries& registries) {
  const std::vector<std::pair<std::string, const config::ComponentCatalog*>> kinds{
      {"tasks", &registries.tasks},           {"models", &registries.models},
      {"datasets", &registries.datasets},     {"transforms", &registries.transforms},
      {"samplers", &registries.samplers},     {"optimizers", &registries.optimizers},
      {"schedules", &registries.schedules},   {"losses", &registries.losses},
      {"algorithms", &registries.algorithms}, {"callbacks", &registries.callbacks},
      {"loggers", &registries.loggers}};
  std::vector<std::string> names;
  for (const auto& [name, catalog] : kinds) names.push_back(name);
  std::string kind;
  CLI::App app("Show the components that a recipe can name.", "list");
  app.add_option("kind", kind, "Which kind; all if left out")
      ->transform([&names](const std::string& word) { return plural_of(word, names); })
      ->check(CLI::IsMember(names));
  bool as_json = false;
  app.add_flag("--json", as_json,
               "Of models: one JSON list with their parameters, GFLOPs and activations for one "
               "image, and with known weights and their published top-1");
  if (!parse_arguments(app, arguments, registries)) return 0;
  if (as_json) {
    if (kind != "models")
      throw base::ConfigError("--json is for models: paceline list models --json");
    fmt::print("{}\n", app::models_json(registries));
    return 0;
  }
  for (const auto& [name, catalog] : kinds) {
    if (!kind.empty() && kind != name) continue;
    fmt::print("{}:\n", name);
    print_catalog(*catalog);
  }
  return 0;
}

}  // namespace paceline::cli
