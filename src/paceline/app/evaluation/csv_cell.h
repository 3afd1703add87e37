#pragma once

#include <string>

namespace paceline::app {

/// A cell of a CSV file, quoted where RFC 4180 has it.
inline std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace paceline::app
