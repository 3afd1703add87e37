#include "paceline/base/json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace paceline::base {
namespace {

/// "line 3, column 7" of an offset.
std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("line {}, column {}", line, before.size() - line_begin + 1);
}

/// Counts brackets outside of strings: all that there is to know before anything is built.
void require_shallow(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        for (++i; i < text.size() && text[i] != '"'; ++i) {
          if (text[i] == '\\') ++i;
        }
        break;
      case '[':
      case '{':
        if (++depth > kDeepestJson) {
          throw JsonError(fmt::format("its JSON is nested more than {} deep at {}", kDeepestJson,
                                      place_of(text, i)));
        }
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      default:
        break;
    }
  }
}

template <class Json>
Json parse_bounded(std::string_view text, std::size_t most_bytes) {
  if (text.size() > most_bytes) {
    throw JsonError(fmt::format("its JSON has {} bytes, more than the {} that are read",
                                text.size(), most_bytes));
  }
  require_shallow(text);
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;
    throw JsonError(fmt::format("not valid JSON at {}", place_of(text, offset)));
  } catch (const nlohmann::json::exception&) {  // a number that no double holds
    throw JsonError("not valid JSON: a number in it is too large");
  }
}

}  // namespace

nlohmann::json parse_json(std::string_view text, std::size_t most_bytes) {
  return parse_bounded<nlohmann::json>(text, most_bytes);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text, std::size_t most_bytes) {
  return parse_bounded<nlohmann::ordered_json>(text, most_bytes);
}

}  // namespace paceline::base
