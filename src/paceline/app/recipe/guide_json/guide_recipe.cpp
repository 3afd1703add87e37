#include "paceline/app/recipe/guide_json/guide_recipe.h"

#include "paceline/app/recipe/guide_json/guide_draft.h"

#include <utility>

namespace paceline::app {

using config::Node;

bool is_guide_document(const Node& document) {
  return document.is_map() &&
         (document.find("stage_configs") != nullptr || document.find("stages") != nullptr);
}

WrittenRecipe guide_recipe(const Node& document, config::Problems& problems) {
  GuideSection top(&document, "", problems);
  GuideDraft draft;
  draft_stages(top, draft);
  GuideSection data = top.take_section("data");
  GuideSection training = top.take_section("training");
  draft_xrays(top, data, draft);
  draft_data(data, training, draft);
  draft_training(top, training, draft);
  draft_records(top, draft);
  data.end();
  training.end();
  top.end();
  return {std::move(draft.recipe), std::move(draft.notes)};
}

}  // namespace paceline::app
