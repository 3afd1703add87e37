#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::launcher {

/// One row of the table of verbs that `paceline --help` prints. No other verb reaches
/// paceline-rank.
struct Verb {
  std::string_view name;
  std::string_view usage;  ///< what follows the name
  std::string_view summary;
  /// The launcher's part; null for a verb that paceline-rank serves alone.
  int (*run)(const std::string& name, const std::vector<std::string>& arguments);
};

std::span<const Verb> verbs();
/// Throws ConfigError with the nearest name for a verb that is not in the table.
const Verb& require_verb(std::string_view name);
std::string help_text();

/// Whether `--help` or `-h` is among a verb's arguments, before any "--".
bool asks_for_help(std::span<const std::string> arguments);
/// "usage: paceline NAME ..." and what the verb does.
std::string usage_text(std::string_view name);

}  // namespace paceline::launcher
