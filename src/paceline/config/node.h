#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paceline::config {

/// Where a value comes from: "recipe.yaml:12", or without a line "command line: optimizer.lr=0.1".
struct Position {
  std::string source;
  int line = 0;  ///< from 1; 0 if the source has no lines
  std::string to_string() const;
  bool operator==(const Position&) const = default;
};

enum class NodeKind { kNull, kScalar, kList, kMap };

struct MapEntry;

/// A parsed piece of configuration: null, a scalar's text, a list or a map in the order of the
/// file. Each node knows where it was written.
struct Node {
  NodeKind kind = NodeKind::kNull;
  std::string text;               ///< of a scalar; of null the word for it, if one is written
  bool is_quoted = false;         ///< the scalar is text even if it looks like a number or null
  std::vector<Node> items;        ///< of a list
  std::vector<MapEntry> entries;  ///< of a map; keys are unique
  Position position;
  std::string comment = {};  ///< what to_yaml() writes behind a leaf; no part of the value

  static Node scalar(std::string text, bool is_quoted = false);
  static Node list();
  static Node list(std::vector<Node> items);
  static Node map();

  bool is_null() const { return kind == NodeKind::kNull; }
  bool is_scalar() const { return kind == NodeKind::kScalar; }
  bool is_list() const { return kind == NodeKind::kList; }
  bool is_map() const { return kind == NodeKind::kMap; }

  /// The value under a key of a map, or nullptr.
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);
  /// The value under a path such as "optimizer.lr", or nullptr.
  const Node* find_path(std::string_view path) const;
  /// Sets a key of a map, in its old place if it exists.
  Node& set(std::string_view key, Node value);
  /// Removes a key of a map; false if it was not there.
  bool erase(std::string_view key);

  /// What a message calls it: `the map {lr: 0.1}`, `'abc'`, `null`.
  std::string describe() const;
};

struct MapEntry {
  std::string key;
  Node value;
  Position position;  ///< of the key
};

/// Parts of a configuration under names of the user's, in the order of the file, that are read
/// later: each holds keys that take their meaning from elsewhere.
struct Sections {
  std::vector<MapEntry> entries;
};

/// Whether both hold the same values, in any order of keys; positions do not count.
bool same_value(const Node& left, const Node& right);

/// "a" and "b" give "a.b"; an empty parent gives "b".
std::string join_path(std::string_view parent, std::string_view key);

/// The node as one line of YAML in flow style: `{lr: 0.1, betas: [0.9, 0.95]}`.
std::string to_flow_yaml(const Node& node);
/// The node as a YAML document in block style; parsing gives an equal node.
std::string to_yaml(const Node& node);
/// A scalar as YAML writes it, quoted where it must be.
std::string to_yaml_scalar(const Node& scalar);
/// The node as JSON in one line; unquoted scalars that JSON knows stay bare.
std::string to_json(const Node& node);

}  // namespace paceline::config
