#pragma once

#include "paceline/app/recipe/guide_json/guide_recipe.h"
#include "paceline/config/parse.h"
#include "paceline/config/problems.h"

#include <string>
#include <string_view>
#include <vector>

namespace paceline::app {

/// What guide_recipe() makes of a text.
class GuideText {
 public:
  explicit GuideText(std::string_view json)
      : recipe_(guide_recipe(config::parse_json(json, "guide.json"), problems_)) {}

  /// The value at a path in one line; "absent" if there is none.
  std::string at(std::string_view path) const {
    const config::Node* const node = recipe_.node.find_path(path);
    return node != nullptr ? config::to_flow_yaml(*node) : "absent";
  }
  const std::vector<std::string>& notes() const { return recipe_.notes; }
  std::string problems() const { return problems_.message(); }

 private:
  config::Problems problems_;
  WrittenRecipe recipe_;
};

/// A guide's document of two stages with more keys in its sections.
inline std::string guide_document(const std::string& training = "", const std::string& data = "",
                                  const std::string& top = "") {
  return R"({"stage_configs": [
  {"name": "stage1", "volume_size": [64, 64, 64], "voxel_dim": 256, "vit_depth": 4, "num_heads": 4,
   "use_depth_lifting": true, "use_physics_loss": true, "physics_weight": 0.3},
  {"name": "stage2", "volume_size": [128, 128, 128], "voxel_dim": 384, "vit_depth": 6,
   "num_heads": 6, "physics_weight": 0.4}],
 "training": {)" +
         training + R"(},
 "data": {)" +
         data + "}" + top + "}";
}

}  // namespace paceline::app
