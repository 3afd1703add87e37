#include "paceline/app/builtin.h"
#include "paceline/app/recipe.h"
#include "paceline/app/recipe_check.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/config/explain.h"
#include "paceline/config/json_schema.h"
#include "paceline/config/load.h"
#include "paceline/config/recipe_template.h"
#include "paceline/config/reference.h"
#include "paceline/config/write.h"

namespace paceline::cli {
namespace {

struct RecipeArguments {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;
};

CLI::Option* add_recipe_options(CLI::App& app, RecipeArguments& arguments) {
  CLI::Option* const recipe = app.add_option("recipe", arguments.recipe, "The recipe");
  app.add_option("overrides", arguments.overrides, "section.key=value changes");
  return recipe;
}

config::Loaded<app::Recipe> load(const RecipeArguments& arguments,
                                 const config::BindContext& context) {
  if (!arguments.recipe.empty())
    return config::load<app::Recipe>(arguments.recipe, arguments.overrides, context);
  return {config::bind<app::Recipe>(config::Node::map(), context), config::Node::map()};
}

void print(std::string_view text) { fmt::print("{}", text); }

}  // namespace

int run_config(const std::vector<std::string>& arguments) {
  RecipeArguments recipe;
  std::string key;
  CLI::App app("Show, check, explain and document recipes.", "config");
  app.require_subcommand(1);
  CLI::App* show =
      app.add_subcommand("show", "Print the recipe with every value that a run would use");
  CLI::App* check =
      app.add_subcommand("check", "Say whether the recipe is sound; print all problems at once");
  CLI::App* explain =
      app.add_subcommand("explain", "Tell the value of a key, where it was set, and what it means");
  CLI::App* schema = app.add_subcommand("schema", "Print the JSON Schema of recipes, for editors");
  CLI::App* recipe_template =
      app.add_subcommand("template", "Print a recipe with every key at its default, with comments");
  CLI::App* reference = app.add_subcommand("reference", "Print all keys as Markdown");
  add_recipe_options(*show, recipe)->required();
  add_recipe_options(*check, recipe)->required();
  explain->add_option("key", key, "The key, such as optimizer.lr")->required();
  add_recipe_options(*explain, recipe)->description("The recipe; without one, the defaults");
  if (!parse_arguments(app, arguments)) return 0;

  const auto registries = app::make_registries();
  const config::BindContext context{registries->catalogs(), 0};
  const config::StructInfo& info = config::describe<app::Recipe>();
  if (*schema) print(config::json_schema(info, context.catalogs));
  if (*reference) print(config::reference_markdown(info, context.catalogs));
  if (*recipe_template) {
    const auto defaults = config::bind<app::Recipe>(config::Node::map(), context);
    print(config::recipe_template(info, &defaults, context.catalogs));
  }
  if (*show || *check || *explain) {
    const auto loaded = load(recipe, context);
    if (*show) print(config::to_yaml(config::to_node(info, &loaded.value)));
    if (*check) {
      const auto problems = app::problems_without_data(loaded.value, *registries);
      if (!problems.empty()) throw base::ConfigError(base::join(problems, "\n"));
      fmt::print("{}: sound\n", recipe.recipe.string());
    }
    if (*explain)
      print(config::explain(key, info, &loaded.value, loaded.written, context.catalogs));
  }
  return 0;
}

}  // namespace paceline::cli
