#pragma once

#include <string_view>

namespace paceline::config {

/// Whether the name of a key, option or variable says that it holds a secret (token, password,
/// ...), or the value looks like one.
bool is_secret(std::string_view name, std::string_view value);

/// Where a secret belongs instead, for a message.
std::string_view secret_advice();

/// Throws ConfigError if a key or an option names a secret (token, password, ...) or the value
/// looks like one. The message does not repeat the value.
void refuse_secret(std::string_view name, std::string_view value);

}  // namespace paceline::config
