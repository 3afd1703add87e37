#pragma once

#include "paceline/config/bind.h"
#include "paceline/config/node.h"
#include "paceline/config/problems.h"
#include "paceline/config/struct_info.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace paceline::config {

/// What changes a recipe.
struct Overrides {
  // NOLINTNEXTLINE(google-explicit-constructor): most callers know no program on top.
  Overrides(std::vector<std::string> by_user = {}, std::vector<std::string> by_program = {})
      : of_user(std::move(by_user)), on_top(std::move(by_program)) {}

  std::vector<std::string> of_user;
  std::vector<std::string> on_top;  ///< of a program that starts the run; they replace the user's
};

/// Reads a recipe file and what it `extends` (a file or a list of files, relative to its own
/// folder; later ones win, the file itself wins over all) and overrides it. The result holds what
/// was written, each value with the place where it was; defaults are not in it. Throws ConfigError
/// for files that cannot be parsed; problems with overrides and variables go to `problems`.
Node load_recipe(const std::filesystem::path& path, const Overrides& overrides,
                 const StructInfo& info, Problems& problems);

/// Applies the overrides to a recipe, the program's last, and puts in the environment's variables.
/// Problems go to `problems`.
void override_recipe(Node& recipe, const Overrides& overrides, const StructInfo& info,
                     Problems& problems);

/// A recipe as a struct, and what was written.
template <class T>
struct Loaded {
  T value{};
  Node written;
};

/// load_recipe and bind in one. Throws one ConfigError that lists all problems.
template <class T>
Loaded<T> load(const std::filesystem::path& path, const Overrides& overrides,
               const BindContext& context) {
  Loaded<T> loaded;
  Problems problems;
  loaded.written = load_recipe(path, overrides, describe<T>(), problems);
  bind(loaded.written, describe<T>(), &loaded.value, context, problems);
  problems.throw_if_any();
  return loaded;
}

}  // namespace paceline::config
