#include "paceline/config/variables.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/secret.h"

#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace paceline::config {
namespace {

constexpr std::string_view kOpen = "${";

// What stands between the braces.
struct Reference {
  std::string name;
  std::optional<std::string> fallback;
  bool replaces_empty = false;  ///< ${VAR:-default}, as shells have it
};

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

Reference parse_reference(std::string_view text) {
  std::string_view rest = text;
  for (const std::string_view prefix : {"oc.env:", "env:"}) {
    if (rest.starts_with(prefix)) {
      rest.remove_prefix(prefix.size());
      break;
    }
  }
  std::size_t length = 0;
  while (length < rest.size() && is_name_character(rest[length])) ++length;
  Reference reference{std::string(rest.substr(0, length)), std::nullopt, false};
  rest.remove_prefix(length);
  const std::size_t mark = rest.starts_with(',') ? 1 : rest.starts_with(":-") ? 2 : 0;
  const bool is_number = !reference.name.empty() && std::isdigit(reference.name[0]) != 0;
  if (reference.name.empty() || is_number || (mark == 0 && !rest.empty())) {
    throw base::ConfigError(
        fmt::format("'${{{}}}' is no variable of the environment: expected ${{VAR}} or "
                    "${{oc.env:VAR,default}}; "
                    "other keys cannot be referred to, so write their value",
                    base::excerpt(text)));
  }
  if (mark > 0) reference.fallback = base::trim(rest.substr(mark));
  reference.replaces_empty = mark == 2;
  return reference;
}

// The place of the brace that closes the one before `text`.
std::size_t closing_brace(std::string_view text) {
  int depth = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kOpen)) ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  throw base::ConfigError(fmt::format("'${{{}' lacks its closing brace", base::excerpt(text)));
}

class Expansion {
 public:
  std::string expand(std::string_view text) {
    constexpr int kMostNested = 8;  // a default may hold variables, too
    if (++depth_ > kMostNested)
      throw base::ConfigError("defaults of variables are nested too deep");
    std::string result;
    while (!text.empty()) {
      const std::size_t open = text.find(kOpen);
      result.append(text.substr(0, open));
      if (open == text.npos) break;
      text.remove_prefix(open + kOpen.size());
      const std::size_t close = closing_brace(text);
      result += value_of(parse_reference(text.substr(0, close)));
      text.remove_prefix(close + 1);
    }
    --depth_;
    return result;
  }

 private:
  std::string value_of(const Reference& reference) {
    const char* value = std::getenv(reference.name.c_str());
    if (value != nullptr && *value == '\0' && reference.replaces_empty) value = nullptr;
    if (is_secret(base::to_lower(reference.name), value != nullptr ? value : "")) {
      throw base::ConfigError(
          fmt::format("the variable {} seems to hold a secret, and recipes are saved with every "
                      "run: {}",
                      reference.name, secret_advice()));
    }
    if (value != nullptr) return value;
    if (reference.fallback) return expand(*reference.fallback);
    throw base::ConfigError(
        fmt::format("the environment has no variable {0}: set it, or give a default, as in "
                    "${{oc.env:{0},default}}",
                    reference.name));
  }

  int depth_ = 0;
};

void expand_scalar(Node& node, const std::string& path, Problems& problems) {
  if (node.text.find(kOpen) == std::string::npos) return;
  try {
    const bool is_one =
        node.text.starts_with(kOpen) &&
        closing_brace(std::string_view(node.text).substr(kOpen.size())) + kOpen.size() + 1 ==
            node.text.size();
    node.text = Expansion().expand(node.text);
    if (!is_one) return;
    node.is_quoted = false;  // the quotes were for the braces, which end a value within {}
    if (node.text == "null") {
      node.kind = NodeKind::kNull;
    }
  } catch (const base::ConfigError& error) {
    problems.add({node.position, path, error.what()});
  }
}

void expand_below(Node& node, const std::string& path, Problems& problems) {
  if (node.is_scalar()) expand_scalar(node, path, problems);
  for (std::size_t i = 0; i < node.items.size(); ++i)
    expand_below(node.items[i], fmt::format("{}[{}]", path, i), problems);
  for (MapEntry& entry : node.entries)
    expand_below(entry.value, join_path(path, entry.key), problems);
}

}  // namespace

void expand_variables(Node& node, Problems& problems) { expand_below(node, "", problems); }

}  // namespace paceline::config
