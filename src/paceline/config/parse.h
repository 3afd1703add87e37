#pragma once

#include "paceline/config/node.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace paceline::config {

/// Parses YAML. `source` is what positions call the text, such as the file's name. Throws
/// ConfigError with the line for bad syntax, a key that stands twice in a map, and YAML that has no
/// place in a configuration (anchors merged by <<, keys that are not text, several documents).
Node parse_yaml(std::string_view text, std::string source);

/// Parses JSON with // and /* */ comments and trailing commas.
Node parse_json(std::string_view text, std::string source);

/// Parses a value on the command line, in YAML's flow style: 0.1, [1, 2], {lr: 0.1}. An empty text
/// is null. All of it gets the position `source`.
Node parse_value(std::string_view text, std::string source);

/// Reads a file: JSON if its name ends in .json or .jsonc, else YAML. An empty file is an empty
/// map. Throws ConfigError.
Node parse_file(const std::filesystem::path& path);

}  // namespace paceline::config
