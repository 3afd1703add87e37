#include "paceline/config/override.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/merge.h"
#include "paceline/config/parse.h"
#include "paceline/config/secret.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/format.h>

namespace paceline::config {
namespace {

bool is_key_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
         c == '/';
}

constexpr std::string_view kCommandLine = "command line: ";

// Every value of an override carries it.
std::string command_line(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  return fmt::format("{}{}", kCommandLine, base::excerpt(text, kLongest));
}

// {a: {b: value}} for "a.b".
Node nest(const std::string& key, const Node& value) {
  Node node = value;
  std::vector<std::string> parts = base::split(key, '.');
  std::reverse(parts.begin(), parts.end());
  for (const std::string& part : parts) {
    Node parent = Node::map();
    parent.position = value.position;
    parent.entries.push_back({part, std::move(node), value.position});
    node = std::move(parent);
  }
  return node;
}

struct MapPlace {
  std::string map_key;    // "algorithms"
  std::string entry_key;  // "algorithms.mixup", or empty if the key is the map itself
  const FieldInfo* field = nullptr;
};

// The map from names to values that the key leads into, if it does.
std::optional<MapPlace> find_map(const std::string& key, const StructInfo& info) {
  const StructInfo* section = &info;
  std::string path;
  const std::vector<std::string> parts = base::split(key, '.');
  for (std::size_t i = 0; i < parts.size() && section != nullptr; ++i) {
    const FieldInfo* field = section->find(parts[i]);
    if (field == nullptr) return std::nullopt;
    path = join_path(path, parts[i]);
    if (field->type->kind == TypeKind::kMap || field->type->kind == TypeKind::kSections) {
      return MapPlace{path, i + 1 < parts.size() ? join_path(path, parts[i + 1]) : "", field};
    }
    section = field->type->structure;
  }
  return std::nullopt;
}

void remove_path(Node& recipe, const std::string& key) {
  const std::size_t dot = key.rfind('.');
  const Node* parent = dot == key.npos ? &recipe : recipe.find_path(key.substr(0, dot));
  const_cast<Node*>(parent)->erase(dot == key.npos ? key : key.substr(dot + 1));
}

// What forbids the override, or nothing.
std::optional<std::string> objection(const Node& recipe, const Override& change,
                                     const std::optional<MapPlace>& place) {
  const Node* written = recipe.find_path(change.key);
  switch (change.kind) {
    case OverrideKind::kAdd:
      if (written == nullptr) return std::nullopt;
      return fmt::format("is there already ({}): write {}=..., or ++{}=... for either case",
                         written->position.to_string(), change.key, change.key);
    case OverrideKind::kRemove:
      if (written != nullptr) return std::nullopt;
      return "is not in the recipe, so it cannot be removed";
    case OverrideKind::kSet:
      if (!place || place->entry_key.empty() || recipe.find_path(place->entry_key) != nullptr) {
        return std::nullopt;
      }
      return fmt::format("there is no {} in the recipe: to add it write +{}", place->entry_key,
                         change.key);
    case OverrideKind::kForce:
      break;
  }
  return std::nullopt;
}

// False if it cannot be applied, which is a problem.
bool apply(Node& recipe, const Override& change, const StructInfo& info, Problems& problems) {
  const std::optional<MapPlace> place = find_map(change.key, info);
  if (place && !place->entry_key.empty() && recipe.find_path(place->map_key) == nullptr) {
    // The entries of a default map are there although no file says so.
    Node defaults = place->field->default_value;
    defaults.position = {"default", 0};
    recipe = merge(recipe, nest(place->map_key, defaults), info);
  }
  if (auto complaint = objection(recipe, change, place)) {
    problems.add({change.value.position, change.key, *complaint});
    return false;
  }
  if (change.kind == OverrideKind::kRemove) {
    remove_path(recipe, change.key);
  } else {
    recipe = merge(recipe, nest(change.key, change.value), info);
  }
  return true;
}

// Whether it says which component a section holds, and with that which keys the section has.
bool picks_component(const Override& change, const StructInfo& info) {
  if (change.kind == OverrideKind::kRemove) return false;
  const StructInfo* section = &info;
  const std::vector<std::string> parts = base::split(change.key, '.');
  for (std::size_t i = 0; i < parts.size() && section != nullptr; ++i) {
    const FieldInfo* field = section->find(parts[i]);
    if (field == nullptr) return false;
    if (choice_of(*field) != nullptr) {
      const std::size_t num_left = parts.size() - i - 1;
      if (num_left == 0) return change.value.is_scalar() || change.value.find("name") != nullptr;
      if (num_left == 1 && parts[i + 1] == "name") return true;
    }
    section = field->type->structure;
  }
  return false;
}

// Whether a part of the recipe is what an override asked for.
bool holds(const Node* part, const Node& wanted) {
  if (part == nullptr) return false;
  if (wanted.is_null()) return part->is_null() || part->is_map();  // an entry with its defaults
  if (wanted.is_scalar() && part->is_map()) {                      // a component by its bare name
    const Node* name = part->find("name");
    return name != nullptr && same_value(*name, wanted);
  }
  if (!wanted.is_map()) return same_value(*part, wanted);
  return std::all_of(wanted.entries.begin(), wanted.entries.end(), [&](const MapEntry& entry) {
    return holds(part->find(entry.key), entry.value);
  });
}

// Whether a key is another one or lies below it.
bool is_within(const std::string& key, const std::string& other) {
  return key.starts_with(other) && (key.size() == other.size() || key[other.size()] == '.');
}

bool is_related(const std::string& left, const std::string& right) {
  return is_within(left, right) || is_within(right, left);
}

// Those of the changes applied before `latest` that had their effect until then.
void report_lost(std::span<const Override> applied, const Override& latest, const Node& before,
                 const Node& after, Problems& problems) {
  for (const Override& change : applied) {
    if (change.kind == OverrideKind::kRemove || !is_related(change.key, latest.key)) continue;
    if (!holds(before.find_path(change.key), change.value)) continue;
    if (holds(after.find_path(change.key), change.value)) continue;
    problems.add({change.value.position, change.key,
                  fmt::format("has no effect beside '{}': leave one of them out",
                              override_of(latest.value).value_or(latest.key))});
  }
}

// As Hydra does, those first that pick a component, which drops the keys of the one before it; but
// none before the removal of what it is part of.
void pick_first(std::vector<Override>& changes, const StructInfo& info) {
  std::vector<Override> first;
  std::vector<Override> rest;
  for (Override& change : changes) {
    const bool follows_removal = std::ranges::any_of(rest, [&](const Override& earlier) {
      return earlier.kind == OverrideKind::kRemove && is_within(change.key, earlier.key);
    });
    auto& part = picks_component(change, info) && !follows_removal ? first : rest;
    part.push_back(std::move(change));
  }
  changes = std::move(first);
  std::ranges::move(rest, std::back_inserter(changes));
}

}  // namespace

Override Override::parse(std::string_view text) {
  Override change;
  std::string_view rest = text;
  const auto take = [&](std::string_view mark, OverrideKind meaning) {
    if (change.kind != OverrideKind::kSet || !rest.starts_with(mark)) return;
    rest.remove_prefix(mark.size());
    change.kind = meaning;
  };
  take("++", OverrideKind::kForce);
  take("+", OverrideKind::kAdd);
  take("~", OverrideKind::kRemove);
  const std::size_t equals = rest.find('=');
  change.key = rest.substr(0, equals);
  refuse_secret(change.key, equals == rest.npos ? "" : rest.substr(equals + 1));
  const std::vector<std::string> parts = base::split(change.key, '.');
  const bool has_empty_part =
      std::any_of(parts.begin(), parts.end(), [](auto& part) { return part.empty(); });
  const bool has_value = equals != rest.npos;
  if (has_empty_part || !std::all_of(change.key.begin(), change.key.end(), is_key_character) ||
      (change.kind == OverrideKind::kSet && !has_value) ||
      (change.kind == OverrideKind::kRemove && has_value)) {
    throw base::ConfigError(fmt::format(
        "{}: an override is section.key=value, +section.key=value to add or ~section.key to remove",
        command_line(text)));
  }
  constexpr std::size_t kMostParts = 40;  // a value is merged into the recipe part by part
  if (parts.size() > kMostParts) {
    throw base::ConfigError(
        fmt::format("{}: a key has at most {} parts", command_line(text), kMostParts));
  }
  change.value = parse_value(has_value ? rest.substr(equals + 1) : "", command_line(text));
  return change;
}

void apply_overrides(Node& recipe, std::span<const std::string> overrides, const StructInfo& info,
                     Problems& problems) {
  std::vector<Override> changes;
  for (const std::string& text : overrides) {
    try {
      changes.push_back(Override::parse(text));
    } catch (const base::ConfigError& error) {
      problems.add({{}, "", error.what()});
    }
  }
  pick_first(changes, info);
  std::vector<Override> applied;
  for (const Override& change : changes) {
    try {
      const Node before = recipe;
      if (!apply(recipe, change, info, problems)) continue;
      report_lost(applied, change, before, recipe, problems);
      applied.push_back(change);
    } catch (const base::ConfigError& error) {
      problems.add({{}, "", error.what()});
    }
  }
}

std::optional<std::string> override_of(const Node& value) {
  const std::string& source = value.position.source;
  if (!source.starts_with(kCommandLine)) return std::nullopt;
  return source.substr(kCommandLine.size());
}

}  // namespace paceline::config
