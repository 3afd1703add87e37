#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace paceline::cli {

/// The data set that a data command works on, as the user names it: a recipe, or a folder or
/// archive whose format is known by what lies in it.
struct DataSource {
  std::string source;
  std::string format;                  ///< empty: by what is there
  std::vector<std::string> overrides;  ///< data.key=value
  std::string split = "train";
  std::string phase = {};  ///< of a recipe that has some; empty: the first

  /// Adds SOURCE, overrides, --format and --phase; and --split, unless `has_split` is false.
  void add_options(CLI::App& app, bool has_split = true);

  /// The recipe, or one that has nothing but its data section. Throws ConfigError, DataError.
  app::Recipe recipe(const app::Registries& registries) const;
  /// A signal ends a data command at once, so no wait looks for one. Throws ConfigError, DataError.
  std::unique_ptr<data::Dataset> open(const app::Registries& registries) const;
};

/// "train" or "val".
data::Split split_of(const std::string& name);

}  // namespace paceline::cli
