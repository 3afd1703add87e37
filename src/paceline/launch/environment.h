#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::launch {

/// Environment variables as a value, so that what reads or writes them can be tested without
/// setenv.
class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string, std::less<>> variables)
      : variables_(std::move(variables)) {}

  /// A copy of this process's environment.
  static Environment of_process();

  /// Nothing if the variable is unset; an empty text counts as unset, as in most launchers.
  std::optional<std::string> get(std::string_view name) const;
  std::string get_or(std::string_view name, std::string_view fallback) const;
  bool has(std::string_view name) const { return get(name).has_value(); }

  /// The variable as a whole number within [low, high]; nothing if unset. Throws ConfigError that
  /// names the variable and its value if it is anything else.
  std::optional<int> get_int(std::string_view name, int low, int high) const;
  /// The variable as seconds, as parse_seconds() has it; nothing if unset.
  std::optional<double> get_seconds(std::string_view name, double low) const;

  void set(std::string_view name, std::string value);
  /// Keeps what the user has set.
  void set_default(std::string_view name, std::string value);

  /// "NAME=value" for execve, sorted by name.
  std::vector<std::string> entries() const;

 private:
  std::map<std::string, std::string, std::less<>> variables_;
};

/// `text` as a whole number within [low, high]. Throws ConfigError that begins with `what` (an
/// option or variable) and says what was expected.
int parse_int(std::string_view what, std::string_view text, int low, int high);

/// `text` as a number of seconds from `low` to a million. Throws ConfigError in the same way.
double parse_seconds(std::string_view what, std::string_view text, double low);

}  // namespace paceline::launch
