#include "paceline/launcher/sweep/recipe_facts.h"

#include "paceline/base/text.h"
#include "paceline/config/parse.h"

#include <cctype>
#include <cstddef>

#include <fmt/format.h>

namespace paceline::launcher {
namespace {

/// A scalar's text; nothing for null, a list or a map.
std::optional<std::string> text_at(const config::Node& recipe, std::string_view path) {
  const config::Node* node = recipe.find_path(path);
  if (node == nullptr || !node->is_scalar()) return std::nullopt;
  return node->text;
}

/// The documents, each without the line that begins it.
std::vector<std::string> documents_of(std::string_view shown) {
  std::vector<std::string> documents(1);
  int num_begun = 0;
  for (const std::string& line : base::split(shown, '\n')) {
    if (line.starts_with("---")) {
      if (num_begun++ > 0) documents.emplace_back();
      continue;
    }
    documents.back() += line + "\n";
  }
  return documents;
}

bool has_phases(std::string_view shown) { return shown.starts_with("---"); }

std::string flow(const config::Node* node) {
  return node == nullptr ? "absent" : config::to_flow_yaml(*node);
}

std::optional<std::string> difference_at(const config::Node* before, const config::Node* after,
                                         const std::string& path) {
  if (before == nullptr || after == nullptr || !before->is_map() || !after->is_map()) {
    if (before != nullptr && after != nullptr && config::same_value(*before, *after))
      return std::nullopt;
    return fmt::format("{}: was {}, is {}", path, flow(before), flow(after));
  }
  for (const config::MapEntry& entry : after->entries) {
    const std::string inner = config::join_path(path, entry.key);
    if (auto found = difference_at(before->find(entry.key), &entry.value, inner)) return found;
  }
  for (const config::MapEntry& entry : before->entries) {
    if (after->find(entry.key) == nullptr)
      return difference_at(&entry.value, nullptr, config::join_path(path, entry.key));
  }
  return std::nullopt;
}

}  // namespace

bool is_less_better_by_name(std::string_view metric) {
  constexpr std::string_view kPercentile = "loss_p";
  const std::string_view name = metric.substr(metric.rfind('/') + 1);
  const bool is_percentile =
      name.starts_with(kPercentile) && name.size() > kPercentile.size() &&
      std::isdigit(static_cast<unsigned char>(name[kPercentile.size()])) != 0;
  return name == "loss" || name == "ece" || is_percentile;
}

RecipeFacts read_recipe_facts(std::string_view shown) {
  const std::vector<std::string> documents = documents_of(shown);
  RecipeFacts facts;
  facts.resolved = config::parse_yaml(documents.back(), "the recipe");
  const config::Node& recipe = facts.resolved;
  facts.num_phases = has_phases(shown) ? static_cast<int>(documents.size()) : 0;
  facts.run_dir = text_at(recipe, "run.dir").value_or("runs");
  facts.run_name = text_at(recipe, "run.name").value_or("run");
  if (const auto seed = text_at(recipe, "run.seed")) facts.seed = std::stoll(*seed);
  if (const config::Node* algorithms = recipe.find("algorithms")) {
    for (const config::MapEntry& entry : algorithms->entries) facts.algorithms.push_back(entry.key);
  }
  facts.duration = text_at(recipe, "train.duration");
  facts.eval_every = text_at(recipe, "train.eval_every");
  facts.saves = text_at(recipe, "checkpoint.every").has_value();
  facts.monitor = text_at(recipe, "checkpoint.monitor");
  facts.mode = text_at(recipe, "checkpoint.mode");
  return facts;
}

std::optional<std::string> first_difference(const config::Node& before, const config::Node& after) {
  return difference_at(&before, &after, "");
}

}  // namespace paceline::launcher
