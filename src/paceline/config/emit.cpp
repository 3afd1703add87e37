// The writing half of node.h.
#include "paceline/base/json.h"
#include "paceline/config/node.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::config {
namespace {

// Texts that YAML readers (also those of YAML 1.1) would take for something else than text.
bool looks_like_another_type(const std::string& text) {
  static constexpr std::string_view kWords[] = {"null", "true", "false", "yes", "no",
                                                "on",   "off",  "y",     "n"};
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::find(std::begin(kWords), std::end(kWords), lower) != std::end(kWords)) return true;
  // Anything that starts like a number: digits, signs, ".5", ".inf".
  return std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '+' ||
         text[0] == '-' || text[0] == '.';
}

// Safe without quotes in block and flow style alike.
bool is_plain(const std::string& text) {
  constexpr std::string_view kSafe = "_-+./@$=%^()~;<>";
  const auto is_safe = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kSafe.find(c) != kSafe.npos;
  };
  const std::size_t length = text.size();
  if (length == 0 || std::string_view("@%=<>~").find(text[0]) != std::string_view::npos)
    return false;
  for (std::size_t i = 0; i < length; ++i) {
    const bool is_inner = i > 0 && i + 1 < length;
    // A colon or a space within a word; ": " and " #" mean something else.
    const bool is_inner_colon = is_inner && text[i] == ':' && text[i + 1] != ' ';
    const bool is_inner_space =
        is_inner && text[i] == ' ' && text[i + 1] != '#' && text[i - 1] != ':';
    if (!is_safe(text[i]) && !is_inner_colon && !is_inner_space) return false;
  }
  return true;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string yaml_key(const std::string& key) { return to_yaml_scalar(Node::scalar(key, true)); }

bool is_leaf(const Node& node) { return node.is_null() || node.is_scalar(); }

// A list of scalars and an empty map stand on the line of their key.
bool is_inline(const Node& node) {
  return is_leaf(node) || (node.is_map() && node.entries.empty()) ||
         (node.is_list() && std::all_of(node.items.begin(), node.items.end(), is_leaf));
}

void emit_block(const Node& node, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  if (is_inline(node)) {
    out += margin + to_flow_yaml(node) + "\n";
    return;
  }
  for (const MapEntry& entry : node.entries) {
    out += margin + yaml_key(entry.key) + ":";
    if (is_inline(entry.value)) {
      out += " " + to_flow_yaml(entry.value);
      out += entry.value.comment.empty() ? "\n" : "  # " + entry.value.comment + "\n";
    } else {
      out += "\n";
      emit_block(entry.value, indent + 2, out);
    }
  }
  for (const Node& item : node.items) {
    std::string block;
    emit_block(item, indent + 2, block);
    block[indent] = '-';
    out += block;
  }
}

nlohmann::ordered_json to_json_value(const Node& node) {
  switch (node.kind) {
    case NodeKind::kNull:
      return nullptr;
    case NodeKind::kScalar: {
      if (node.is_quoted) return node.text;
      try {
        auto value = base::parse_ordered_json(node.text);
        return value.is_primitive() ? value : nlohmann::ordered_json(node.text);
      } catch (const base::JsonError&) {
        return node.text;
      }
    }
    case NodeKind::kList: {
      auto list = nlohmann::ordered_json::array();
      for (const Node& item : node.items) list.push_back(to_json_value(item));
      return list;
    }
    case NodeKind::kMap:
      break;
  }
  auto map = nlohmann::ordered_json::object();
  for (const MapEntry& entry : node.entries) map[entry.key] = to_json_value(entry.value);
  return map;
}

}  // namespace

std::string to_yaml_scalar(const Node& scalar) {
  // What was bare in a block, such as `a, b` or text over several lines, may need quotes elsewhere.
  const bool is_bare =
      is_plain(scalar.text) && (!scalar.is_quoted || !looks_like_another_type(scalar.text));
  return is_bare ? scalar.text : quoted(scalar.text);
}

std::string to_flow_yaml(const Node& node) {
  std::string text;
  switch (node.kind) {
    case NodeKind::kNull:
      return "null";
    case NodeKind::kScalar:
      return to_yaml_scalar(node);
    case NodeKind::kList:
      for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + to_flow_yaml(item);
      return "[" + text + "]";
    case NodeKind::kMap:
      for (const MapEntry& entry : node.entries) {
        text += (text.empty() ? "" : ", ") + yaml_key(entry.key) + ": " + to_flow_yaml(entry.value);
      }
      return "{" + text + "}";
  }
  return text;
}

std::string to_yaml(const Node& node) {
  std::string text;
  emit_block(node, 0, text);
  return text;
}

std::string to_json(const Node& node) { return to_json_value(node).dump(); }

}  // namespace paceline::config
