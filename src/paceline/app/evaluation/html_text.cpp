#include "paceline/app/evaluation/html_text.h"

#include "paceline/base/text.h"

namespace paceline::app {
namespace {

void add_escaped(std::string_view text, std::string& escaped) {
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      case '\0':
        escaped += "\xEF\xBF\xBD";
        break;
      default:
        escaped += c;
    }
  }
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  while (const auto bad = base::find_invalid_utf8(text)) {
    add_escaped(text.substr(0, *bad), escaped);
    escaped += "\xEF\xBF\xBD";
    text.remove_prefix(*bad + 1);
  }
  add_escaped(text, escaped);
  return escaped;
}

}  // namespace paceline::app
