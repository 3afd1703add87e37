#pragma once

#include "paceline/app/recipe/builtin.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/config/node.h"

#include <memory>
#include <optional>

namespace paceline::app {

inline constexpr const char* kNumClasses = "model.num_classes";

/// A recipe's network and loss for its task. The recipe and the registries must outlive it.
class RecipeParts final : public train::TaskParts {
 public:
  RecipeParts(const Recipe& recipe, const Registries& registries)
      : recipe_(recipe), registries_(registries) {}

  using TaskParts::make_network;
  std::shared_ptr<nn::Network> make_network(std::optional<int> num_outputs) override;
  std::shared_ptr<nn::Loss> make_loss() override;

  /// What the task has asked for.
  std::optional<int> num_outputs() const { return num_outputs_; }
  bool has_made_loss() const { return has_made_loss_; }

 private:
  const Recipe& recipe_;
  const Registries& registries_;
  std::optional<int> num_outputs_;
  bool has_made_loss_ = false;
};

/// Whether the model has a num_classes that the recipe does not set.
bool leaves_outputs_open(const Recipe& recipe, const config::Node& written);

/// How many outputs the recipe's task wants whatever data there are; nothing if that is left to the
/// recipe. `written` is what the recipe says. Throws ConfigError if it says another number.
std::optional<int> num_outputs_of_task(const Recipe& recipe, const config::Node& written,
                                       const Registries& registries);

}  // namespace paceline::app
