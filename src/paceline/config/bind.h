#pragma once

#include "paceline/config/component.h"
#include "paceline/config/foreign_names.h"
#include "paceline/config/node.h"
#include "paceline/config/problems.h"
#include "paceline/config/schema.h"

#include <functional>
#include <string>

namespace paceline::config {

/// What binding needs to know besides the schema.
struct BindContext {
  Catalogs catalogs;                            ///< by kind, for sections that pick a component
  int world_size = 0;                           ///< 0: unknown; only for the numbers in messages
  const ForeignNames* foreign_names = nullptr;  ///< null: none are known
  /// What a written text stands for in a field that is a Path; null: for itself.
  std::function<std::string(const std::string& text)> resolve_path = {};
};

/// Reads a parsed configuration into `object`, a struct with its defaults. Keys that are absent
/// keep them; components are resolved also where nothing was written. Adds everything that is wrong
/// to `problems`; then the object must not be used.
void bind(const Node& node, const StructInfo& info, void* object, const BindContext& context,
          Problems& problems);

/// The configuration as a T. Throws one ConfigError that lists all problems.
template <class T>
T bind(const Node& node, const BindContext& context) {
  T object{};
  Problems problems;
  bind(node, describe<T>(), &object, context, problems);
  problems.throw_if_any();
  return object;
}

/// The component of `entry` with these options; those that are absent are its defaults. Throws one
/// ConfigError that lists all problems.
Component bind_component(const ComponentEntry& entry, const Node& options,
                         const BindContext& context);

}  // namespace paceline::config
