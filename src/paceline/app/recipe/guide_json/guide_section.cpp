#include "paceline/app/recipe/guide_json/guide_section.h"

#include "paceline/base/text.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace paceline::app {
namespace {

using config::MapEntry;
using config::Node;

bool is_for_people(std::string_view key) {
  return key == "description" || key.starts_with("_comment");
}

template <class Number>
std::optional<Number> whole_text_as(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

GuideSection::GuideSection(const Node* node, std::string path, config::Problems& problems)
    : node_(node), path_(std::move(path)), problems_(problems) {
  if (node_ == nullptr || node_->is_map()) return;
  problems_.add({node_->position, path_,
                 fmt::format("must be a section {{...}} of keys, got {}", node_->describe())});
  node_ = nullptr;
}

const Node* GuideSection::take(std::initializer_list<std::string_view> spellings) {
  const Node* found = nullptr;
  std::string_view name;
  for (const std::string_view key : spellings) {
    if (std::ranges::find(taken_, key) == taken_.end()) taken_.emplace_back(key);
    const Node* const value = node_ != nullptr ? node_->find(key) : nullptr;
    if (value == nullptr || value->is_null()) continue;
    if (found != nullptr)
      refuse(key, fmt::format("says the same as {}: leave one of them out", name));
    found = value;
    name = key;
  }
  return found;
}

std::optional<bool> GuideSection::take_flag(std::string_view key) {
  const Node* const value = take(key);
  if (value == nullptr) return std::nullopt;
  const bool is_flag = value->is_scalar() && !value->is_quoted;
  if (is_flag && value->text == "true") return true;
  if (is_flag && value->text == "false") return false;
  refuse(key, fmt::format("must be true or false, got {}", value->describe()));
  return std::nullopt;
}

std::optional<std::int64_t> GuideSection::take_count(
    std::initializer_list<std::string_view> spellings, std::int64_t least) {
  const Node* const value = take(spellings);
  if (value == nullptr) return std::nullopt;
  const auto number = value->is_scalar() && !value->is_quoted
                          ? whole_text_as<std::int64_t>(value->text)
                          : std::nullopt;
  if (number && *number >= least) return number;
  const auto key = std::ranges::find_if(
      spellings, [&](std::string_view spelling) { return node_->find(spelling) == value; });
  refuse(*key,
         fmt::format("must be a whole number of at least {}, got {}", least, value->describe()));
  return std::nullopt;
}

GuideSection GuideSection::take_section(std::string_view key) {
  return {take(key), config::join_path(path_, key), problems_};
}

void GuideSection::refuse(std::string_view key, std::string text) {
  const Node* const value = node_ != nullptr ? node_->find(key) : nullptr;
  problems_.add({value != nullptr ? value->position : config::Position{},
                 config::join_path(path_, key), std::move(text)});
}

void GuideSection::end() {
  if (node_ == nullptr) return;
  for (const MapEntry& entry : node_->entries) {
    if (is_for_people(entry.key) || std::ranges::find(taken_, entry.key) != taken_.end()) continue;
    const std::string nearest = base::nearest_name(entry.key, taken_);
    problems_.add(
        {entry.position, config::join_path(path_, entry.key),
         nearest.empty()
             ? fmt::format("has no meaning here: take it out, or name it _comment_{}; known are {}",
                           entry.key, base::join(taken_, ", "))
             : fmt::format("has no meaning here: did you mean {}?", nearest)});
  }
}

std::optional<double> guide_number(const Node& node) {
  return node.is_scalar() && !node.is_quoted ? whole_text_as<double>(node.text) : std::nullopt;
}

void put(Node& recipe, std::string_view path, Node value) {
  const std::size_t dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  if (dot == path.npos) {
    recipe.set(key, std::move(value));
    return;
  }
  Node* section = recipe.find(key);
  if (section == nullptr) {
    Node made = Node::map();
    made.position = value.position;
    section = &recipe.set(key, std::move(made));
  }
  put(*section, path.substr(dot + 1), std::move(value));
}

Node scalar_at(const Node& source, std::string text) {
  Node node = Node::scalar(std::move(text));
  node.position = source.position;
  return node;
}

}  // namespace paceline::app
