#include "paceline/config/node.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace paceline::config {

std::string Position::to_string() const {
  return line > 0 ? fmt::format("{}:{}", source, line) : source;
}

Node Node::scalar(std::string text, bool is_quoted) {
  Node node;
  node.kind = NodeKind::kScalar;
  node.text = std::move(text);
  node.is_quoted = is_quoted;
  return node;
}

Node Node::list() { return list({}); }

Node Node::list(std::vector<Node> items) {
  Node node;
  node.kind = NodeKind::kList;
  node.items = std::move(items);
  return node;
}

Node Node::map() {
  Node node;
  node.kind = NodeKind::kMap;
  return node;
}

const Node* Node::find(std::string_view key) const {
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const MapEntry& candidate) { return candidate.key == key; });
  return entry == entries.end() ? nullptr : &entry->value;
}

Node* Node::find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).find(key)); }

const Node* Node::find_path(std::string_view path) const {
  const Node* node = this;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == path.npos ? std::string_view{} : path.substr(dot + 1);
  }
  return node;
}

Node& Node::set(std::string_view key, Node value) {
  PACELINE_CHECK(is_map(), "'{}' can only be set in a map", key);
  if (Node* existing = find(key)) {
    *existing = std::move(value);
    return *existing;
  }
  Position origin = value.position;
  entries.push_back({std::string(key), std::move(value), std::move(origin)});
  return entries.back().value;
}

bool Node::erase(std::string_view key) {
  return std::erase_if(entries, [&](const MapEntry& entry) { return entry.key == key; }) > 0;
}

std::string Node::describe() const {
  switch (kind) {
    case NodeKind::kNull:
      break;
    case NodeKind::kScalar:
      return fmt::format("{}'{}'", is_quoted ? "the text " : "", base::excerpt(text));
    case NodeKind::kList:
      return "the list " + base::excerpt(to_flow_yaml(*this));
    case NodeKind::kMap:
      return "the map " + base::excerpt(to_flow_yaml(*this));
  }
  return "null";
}

/// 1e-08 and 1.0e-08, as older and newer programs write it.
static bool same_number(const std::string& left, const std::string& right) {
  const auto number = [](const std::string& text) -> std::optional<double> {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
  };
  if ((left + right).find_first_of("eE") == std::string::npos) return false;
  const auto value = number(left);
  return value && value == number(right);
}

bool same_value(const Node& left, const Node& right) {
  if (left.kind != right.kind) return false;
  switch (left.kind) {
    case NodeKind::kNull:
      return true;
    case NodeKind::kScalar:
      return left.text == right.text || same_number(left.text, right.text);
    case NodeKind::kList:
      return std::equal(left.items.begin(), left.items.end(), right.items.begin(),
                        right.items.end(), same_value);
    case NodeKind::kMap:
      return left.entries.size() == right.entries.size() &&
             std::all_of(left.entries.begin(), left.entries.end(), [&](const MapEntry& entry) {
               const Node* other = right.find(entry.key);
               return other != nullptr && same_value(entry.value, *other);
             });
  }
  return false;
}

std::string join_path(std::string_view parent, std::string_view key) {
  return parent.empty() ? std::string(key) : fmt::format("{}.{}", parent, key);
}

}  // namespace paceline::config
