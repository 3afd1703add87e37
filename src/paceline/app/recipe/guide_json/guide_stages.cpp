#include "paceline/app/recipe/guide_json/guide_draft.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace paceline::app {
namespace {

using config::Node;

/// A stage's volume has so many tokens a side, however large it is.
constexpr std::int64_t kTokensOfASide = 16;

/// Of 64 or [64, 64, 64]; nothing, and a problem, for anything but a cube.
std::optional<std::int64_t> side_of(GuideSection& section, std::string_view key,
                                    const Node& value) {
  const std::vector<Node> sides = value.is_list() ? value.items : std::vector<Node>(3, value);
  const auto side = sides.empty() ? std::nullopt : guide_number(sides.front());
  const bool is_cube =
      side && sides.size() == 3 && *side >= 1 && *side <= 4096 &&
      static_cast<double>(static_cast<std::int64_t>(*side)) == *side &&
      std::ranges::all_of(sides, [&](const Node& other) { return guide_number(other) == side; });
  if (is_cube) return static_cast<std::int64_t>(*side);
  section.refuse(key,
                 fmt::format("must be the three equal sides of a cube, as [64, 64, 64], got {}",
                             value.describe()));
  return std::nullopt;
}

void put_count(GuideSection& section, std::string_view key, std::string_view ours, Node& stage) {
  if (const Node* const value = section.take(key)) stage.set(ours, *value);
}

/// Of `model.stages`. Returns the stage's side, 0 where it is wrong.
std::int64_t draft_network(GuideSection& section, const Node& source, Node& stages) {
  Node stage = Node::map();
  stage.position = source.position;
  std::int64_t side = 0;
  if (const Node* const size = section.take("volume_size")) {
    side = side_of(section, "volume_size", *size).value_or(0);
    if (side % kTokensOfASide != 0) {
      section.refuse("volume_size", fmt::format("must be a multiple of {0}, as a stage works on "
                                                "{0} tokens a side, got {1}",
                                                kTokensOfASide, side));
    }
    stage.set("volume_size", scalar_at(*size, fmt::format("{}", side)));
    stage.set(
        "patch",
        scalar_at(*size, fmt::format("{}", std::max<std::int64_t>(side / kTokensOfASide, 1))));
  } else {
    section.problems().add({source.position, config::join_path(section.path(), "volume_size"),
                            "is missing: write the sides of the stage's volumes, as [64, 64, 64]"});
  }
  put_count(section, "voxel_dim", "dim", stage);
  put_count(section, "vit_depth", "depth", stage);
  put_count(section, "num_heads", "heads", stage);
  stages.items.push_back(std::move(stage));
  return side;
}

void draft_physics(GuideSection& section, const std::string& prefix, Node& recipe) {
  const Node* const weight = section.take("physics_weight");
  const auto is_used = section.take_flag("use_physics_loss");
  if (is_used == false) {
    put(recipe, prefix + "task.physics_weight", Node::scalar("0"));
  } else if (weight != nullptr) {
    put(recipe, prefix + "task.physics_weight", *weight);
  }
  if (section.take_flag("use_depth_lifting") == false) {
    section.refuse("use_depth_lifting",
                   "every stage lifts X-rays along their rays, which is how it sees them: write "
                   "true");
  }
}

bool is_in_names(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

/// As its phase is called, and by that its folder.
std::string name_of_stage(GuideSection& section, std::size_t number, const GuideDraft& draft) {
  std::string usual = fmt::format("stage{}", number);
  const Node* const given = section.take("name");
  if (given == nullptr) return usual;
  if (!given->is_scalar() || given->text.empty() ||
      !std::ranges::all_of(given->text, is_in_names)) {
    section.refuse("name", fmt::format("must be of letters, digits, '-' and '_', as {}, got {}",
                                       usual, given->describe()));
    return usual;
  }
  if (std::ranges::find(draft.stages, given->text) == draft.stages.end()) return given->text;
  section.refuse("name",
                 fmt::format("two stages are called {}, and each has its own folder", given->text));
  return usual;
}

void draft_phase(GuideSection& section, const Node& source, std::size_t number, Node& stages,
                 GuideDraft& draft) {
  const std::string name = name_of_stage(section, number, draft);
  const std::string prefix = fmt::format("phases.{}.", name);
  const std::int64_t side = draft_network(section, source, stages);
  draft.stages.push_back(name);
  draft.volume_sizes.push_back(side);
  if (number > 1) put(draft.recipe, prefix + "start_from", scalar_at(source, "best"));
  put(draft.recipe, prefix + "model.num_stages", scalar_at(source, fmt::format("{}", number)));
  put(draft.recipe, prefix + "data.side", scalar_at(source, fmt::format("{}", side)));
  draft_physics(section, prefix, draft.recipe);
  draft_step(section, prefix, draft.recipe);
  section.end();
}

}  // namespace

void draft_stages(GuideSection& document, GuideDraft& draft) {
  const Node* const list = document.take({"stage_configs", "stages"});
  const std::string_view key =
      list != nullptr && document.take("stages") == list ? "stages" : "stage_configs";
  if (list == nullptr || !list->is_list() || list->items.empty()) {
    document.refuse(key, fmt::format("must be a list of stages, [{{\"name\": \"stage1\", "
                                     "\"volume_size\": [64, 64, 64], ...}}], got {}",
                                     list == nullptr ? "nothing" : list->describe()));
    return;
  }
  Node stages = Node::list();
  stages.position = list->position;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const Node& source = list->items[i];
    GuideSection section(&source, fmt::format("{}[{}]", key, i), document.problems());
    draft_phase(section, source, i + 1, stages, draft);
  }
  put(draft.recipe, "model.stages", std::move(stages));
}

}  // namespace paceline::app
