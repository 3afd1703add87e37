#include "paceline/app/assembly/first_weights.h"
#include "paceline/app/assembly/recipe_check.h"
#include "paceline/app/banner.h"
#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/derived_values.h"
#include "paceline/app/recipe/phases.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/plot/plot_schedule.h"
#include "paceline/comm/c10d/bootstrap.h"
#include "paceline/config/load.h"
#include "paceline/config/reference/explain.h"
#include "paceline/config/reference/json_schema.h"
#include "paceline/config/reference/recipe_template.h"
#include "paceline/config/reference/reference.h"
#include "paceline/config/write.h"

namespace paceline::cli {
namespace {

struct RecipeArguments {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;
  std::string phase;  ///< of a recipe that has some; empty: all
};

void print(std::string_view text) { fmt::print("{}", text); }

CLI::Option* add_recipe_options(CLI::App& app, RecipeArguments& arguments) {
  CLI::Option* const recipe = app.add_option("recipe", arguments.recipe, "The recipe");
  app.add_option("overrides", arguments.overrides, "section.key=value changes");
  return recipe;
}

/// What is asked for: a recipe without phases, a phase of one, or all of them.
std::vector<app::Phase> load(const RecipeArguments& arguments, const config::BindContext& context) {
  if (arguments.recipe.empty()) {
    config::Node written = config::Node::map();
    config::Problems problems;
    config::override_recipe(written, arguments.overrides, config::describe<app::Recipe>(),
                            problems);
    problems.throw_if_any();
    return {
        app::Phase{.name = "", .recipe = {config::bind<app::Recipe>(written, context), written}}};
  }
  app::PhasedRecipe recipe = app::load_phases(arguments.recipe, arguments.overrides, context);
  if (!arguments.phase.empty()) return {app::phase_of(recipe, arguments.phase)};
  return std::move(recipe.phases);
}

/// A phase as a document of its own.
void print_header(const app::Phase& phase) {
  if (!phase.name.empty()) print(fmt::format("---  # phase {}: {}\n", phase.number, phase.name));
  for (const std::string& note : phase.notes) print(fmt::format("# note: {}\n", note));
}

/// The recipe with what is known of its weights without a network.
app::Recipe with_known_weights(app::Recipe recipe, const app::Registries& registries) {
  try {
    app::take_known_preprocessing(registries, recipe);
  } catch (const base::Error&) {  // a check tells
  }
  return recipe;
}

/// Every value that a run would use; those that the data decide only if `opens_data`.
void show(const app::Phase& phase, const app::Registries& registries, bool opens_data) {
  app::Recipe recipe = phase.recipe.value;
  if (opens_data) recipe = app::load_recipe(phase.recipe, registries, /*world_size=*/1).recipe;
  recipe = with_known_weights(std::move(recipe), registries);
  config::Node resolved = config::to_node(config::describe<app::Recipe>(), &recipe);
  app::comment_derived(app::derived_values(recipe, phase.recipe.written, registries), opens_data,
                       resolved);
  print_header(phase);
  print(config::to_yaml(resolved));
}

/// "RECIPE" or "RECIPE, phase head".
std::string name_of(const RecipeArguments& arguments, const app::Phase& phase) {
  return arguments.recipe.string() + (phase.name.empty() ? "" : ", phase " + phase.name);
}

/// Builds all of a run on one rank, without a step.
void check_with_data(const app::Phase& phase, const RecipeArguments& arguments,
                     const app::Registries& registries) {
  app::LoadedRecipe loaded = app::load_recipe(phase.recipe, registries, /*world_size=*/1);
  const auto communicator = comm::connect({});
  base::RealFileSystem files;
  const base::Interruption no_signal;
  const app::Session session(loaded.recipe, {registries, *communicator, files, no_signal},
                             /*changes=*/{}, std::move(loaded.train_set));
  fmt::print("{}: sound, with {}\n", name_of(arguments, phase), app::describe_data(session));
}

void check_recipe(const RecipeArguments& arguments, const config::BindContext& context,
                  const app::Registries& registries, bool opens_data) {
  const std::vector<app::Phase> phases = load(arguments, context);
  const auto problems = app::problems_without_data(phases, registries);
  if (!problems.empty()) throw base::ConfigError(base::join(problems, "\n"));
  for (const app::Phase& phase : phases) {
    if (opens_data)
      check_with_data(phase, arguments, registries);
    else
      fmt::print("{}: sound, as far as can be told without its data (--data opens them)\n",
                 name_of(arguments, phase));
  }
}

void explain(const std::string& key, const app::Phase& phase, const config::BindContext& context,
             const app::Registries& registries) {
  const config::Node& written = phase.recipe.written;
  const app::Recipe recipe = with_known_weights(phase.recipe.value, registries);
  print_header(phase);
  print(config::explain(key, config::describe<app::Recipe>(), &phase.recipe.value, written, context,
                        app::derived_values(recipe, written, registries)));
}

void print_template(const app::Registries& registries) {
  config::BindContext context = registries.context(0);
  context.resolve_path = {};  // paths stay relative, for whoever gets the file
  const config::Node nothing = config::Node::map();
  const auto defaults = config::bind<app::Recipe>(nothing, context);
  print(config::recipe_template(config::describe<app::Recipe>(), &defaults, context.catalogs,
                                app::derived_values(defaults, nothing, registries)));
}

void add_plot_options(CLI::App& plot, PlotRequest& drawing) {
  plot.add_option("--samples", drawing.num_samples, "Training samples, instead of asking the data")
      ->check(CLI::PositiveNumber);
  plot.add_option("--nproc", drawing.world_size, "Ranks of the run")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  plot.add_option("--svg", drawing.svg, "The SVG file to draw, too");
}

}  // namespace

int run_config(const std::vector<std::string>& arguments, const app::Registries& registries) {
  RecipeArguments recipe;
  std::string key;
  CLI::App app("Show, check, explain and document recipes.", "config");
  app.require_subcommand(1);
  CLI::App* shown =
      app.add_subcommand("show", "Print the recipe with every value that a run would use");
  CLI::App* check =
      app.add_subcommand("check", "Say whether the recipe is sound; print all problems at once");
  CLI::App* explained =
      app.add_subcommand("explain", "Tell the value of a key, where it was set, and what it means");
  CLI::App* plot = app.add_subcommand(
      "plot-schedule", "Draw learning rate and image size over the run; a table if piped");
  CLI::App* schema = app.add_subcommand("schema", "Print the JSON Schema of recipes, for editors");
  CLI::App* recipe_template =
      app.add_subcommand("template", "Print a recipe with every key at its default, with comments");
  CLI::App* reference = app.add_subcommand("reference", "Print all keys as Markdown");
  add_recipe_options(*shown, recipe)->required();
  add_recipe_options(*check, recipe)->required();
  explained->add_option("key", key, "The key, such as optimizer.lr")->required();
  add_recipe_options(*explained, recipe)->description("The recipe; without one, the defaults");
  bool opens_data = false;
  add_recipe_options(*plot, recipe)->required();
  PlotRequest drawing;
  add_plot_options(*plot, drawing);
  for (CLI::App* command : {shown, check, explained, plot})
    command->add_option("--phase", recipe.phase, "Of the recipe's phases this one; else all");
  for (CLI::App* command : {shown, check})
    command->add_flag("--data", opens_data, "Open the data, too, and use what they decide");
  if (!parse_arguments(app, arguments, registries)) return 0;

  const config::BindContext context = registries.context(*plot ? drawing.world_size : 0);
  const config::StructInfo& info = config::describe<app::Recipe>();
  if (*schema) print(config::json_schema(info, context.catalogs));
  if (*reference) print(config::reference_markdown(info, context.catalogs));
  if (*recipe_template) print_template(registries);
  if (*check) check_recipe(recipe, context, registries, opens_data);
  if (*shown) {
    for (const app::Phase& phase : load(recipe, context)) show(phase, registries, opens_data);
  }
  if (*plot) {
    refuse_other_format(drawing.svg, ".svg", "SVG is what is drawn", {".png", ".jpg", ".pdf"});
    plot_schedules(load(recipe, context), drawing, registries);
  }
  if (*explained) {
    const std::string first = recipe.recipe.string();
    if (first.find('=') != std::string::npos && !base::file_exists(recipe.recipe)) {
      recipe.overrides.insert(recipe.overrides.begin(), first);  // of the defaults
      recipe.recipe.clear();
    }
    for (const app::Phase& phase : load(recipe, context)) explain(key, phase, context, registries);
  }
  return 0;
}

}  // namespace paceline::cli
