#include "paceline/app/recipe/guide_json/strict_json.h"

#include "paceline/base/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::app {
namespace {

/// How long the comment at the beginning of the text is; 0: there is none.
std::size_t comment_length(std::string_view text) {
  if (text.starts_with("//")) return std::min(text.find('\n'), text.size());
  if (!text.starts_with("/*")) return 0;
  const std::size_t end = text.find("*/", 2);
  return end == text.npos ? text.size() : end + 2;
}

/// How long the quoted text at the beginning is; 0: there is none.
std::size_t quoted_length(std::string_view text) {
  if (!text.starts_with('"')) return 0;
  std::size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

}  // namespace

void refuse_trailing_commas(std::string_view text, const std::string& source) {
  std::size_t comma = text.npos;  // behind which nothing but space and comments has come
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const std::size_t comment = comment_length(rest);
    const std::size_t quoted = quoted_length(rest);
    const char c = text[i];
    if (comma != text.npos && (c == ']' || c == '}')) {
      const auto line =
          1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(comma), '\n');
      throw base::ConfigError(
          fmt::format("{}:{}: not valid JSON: nothing follows this comma before the {}: remove it",
                      source, line, c));
    }
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (c == ',')
      comma = i;
    else if (comment == 0 && !is_space)
      comma = text.npos;
    i += std::max({comment, quoted, std::size_t{1}});
  }
}

}  // namespace paceline::app
