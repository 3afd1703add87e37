#pragma once

#include "paceline/config/node.h"
#include "paceline/config/problems.h"
#include "paceline/config/struct_info.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace paceline::config {

enum class OverrideKind {
  kSet,     ///< a.b=v: the key must exist
  kAdd,     ///< +a.b=v: the key must not be there yet; without =v the defaults
  kForce,   ///< ++a.b=v: either
  kRemove,  ///< ~a.b
};

/// A change on the command line, in Hydra's notation. Values are YAML in flow style.
struct Override {
  OverrideKind kind = OverrideKind::kSet;
  std::string key;
  Node value;

  /// Throws ConfigError for other text, and for a secret, which it does not repeat.
  static Override parse(std::string_view text);
};

/// Applies the overrides to a recipe as written: first those that pick a component, then the
/// others, each in order. A key in a map such as `algorithms`, which the recipe's author fills,
/// exists if an entry of its name is there; all other keys are judged by the schema when the result
/// is bound. One that another takes the effect from is a problem, as it would be lost in silence.
/// Problems have the position "command line: TEXT".
void apply_overrides(Node& recipe, std::span<const std::string> overrides, const StructInfo& info,
                     Problems& problems);

/// The text of the override that this value comes from; nothing for one of a file.
std::optional<std::string> override_of(const Node& value);

}  // namespace paceline::config
