#pragma once

#include "paceline/config/node.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::launcher {

/// Which metric of a run's last evaluation is compared, and how.
struct MetricGoal {
  std::string metric = {};
  bool is_less_better = false;

  bool operator==(const MetricGoal&) const = default;
};

/// Whether less of a metric is better, by its name, as checkpoint.mode has it: "val/loss",
/// "val/loss_p95", "val/ece".
bool is_less_better_by_name(std::string_view metric);

/// What a sweep wants to know of a recipe.
struct RecipeFacts {
  std::string run_dir = {};
  std::string run_name = {};
  std::int64_t seed = 0;
  std::vector<std::string> algorithms = {};
  std::optional<std::string> duration = {};    ///< if it is one
  std::optional<std::string> eval_every = {};  ///< nothing: never
  bool saves = true;                           ///< checkpoint.every
  std::optional<std::string> monitor = {};     ///< nothing: the task knows
  std::optional<std::string> mode = {};        ///< "min", "max"
  int num_phases = 0;
  config::Node resolved = {};  ///< of the last phase, if there are some
};

/// Of what `paceline config show` prints: a document, or one for each phase.
RecipeFacts read_recipe_facts(std::string_view shown);

/// "optimizer.lr: was 0.1, is 0.2" for the first key that differs; nothing if none does.
std::optional<std::string> first_difference(const config::Node& before, const config::Node& after);

}  // namespace paceline::launcher
