#include "paceline/cli/data/data_source.h"

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/recipe/local_path.h"
#include "paceline/app/recipe/phases.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/config/load.h"
#include "paceline/config/parse.h"
#include "paceline/data/remote/remote_storage.h"
#include "paceline/data/sources/dataset_name.h"

#include <filesystem>

#include <nlohmann/json.hpp>

namespace paceline::cli {
namespace {

bool is_recipe(const std::string& source) {
  const std::string extension = std::filesystem::path(source).extension().string();
  return extension == ".yaml" || extension == ".yml";
}

}  // namespace

void DataSource::add_options(CLI::App& app, bool has_split) {
  app.add_option("source", source,
                 "A recipe, or the folder or archive of a data set; also s3://, gs:// or https://")
      ->required();
  app.add_option("overrides", overrides, "data.key=value settings of the source");
  app.add_option(
      "--format", format,
      "What the folder is, as `paceline list datasets` names it; left out: what it looks "
      "like");
  app.add_option("--phase", phase, "Of a recipe's phases this one; else the first");
  if (has_split)
    app.add_option("--split", split, "Which part")
        ->check(CLI::IsMember({"train", "val"}))
        ->capture_default_str();
}

app::Recipe DataSource::recipe(const app::Registries& registries) const {
  const config::BindContext context = registries.context(0);
  if (is_recipe(source))
    return app::phase_of(app::load_phases(source, overrides, context), phase).recipe.value;
  const std::string name =
      format.empty() ? data::dataset_name(source, data::make_storage({})) : format;
  const nlohmann::json path = app::absolute_path(source);
  config::Node node =
      config::parse_yaml(fmt::format("data: {{name: {}, path: {}}}", name, path.dump()), source);
  config::Problems problems;
  config::override_recipe(node, overrides, config::describe<app::Recipe>(), problems);
  problems.throw_if_any();
  return config::bind<app::Recipe>(node, context);
}

std::unique_ptr<data::Dataset> DataSource::open(const app::Registries& registries) const {
  const app::Recipe named = recipe(registries);
  auto dataset = app::open_dataset(named, registries, split_of(split), /*interruption=*/nullptr);
  if (registries.datasets.build(named.data.source)->make_samples &&
      dataset->stored_fields().empty())
    throw base::ConfigError(fmt::format(
        "{}: this command reads what is stored, which {} alone can read; `paceline data "
        "show` and `bench` take what it makes of it",
        source, named.data.source.name));
  app::warn_of_content(*dataset);
  return dataset;
}

data::Split split_of(const std::string& name) {
  return name == "val" ? data::Split::kVal : data::Split::kTrain;
}

}  // namespace paceline::cli
