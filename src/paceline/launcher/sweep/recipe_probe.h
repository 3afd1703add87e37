#pragma once

#include "paceline/launch/environment.h"
#include "paceline/launcher/children/children.h"
#include "paceline/launcher/sweep/recipe_facts.h"
#include "paceline/launcher/sweep/sweep_options.h"
#include "paceline/launcher/sweep/trials.h"

#include <span>
#include <string>
#include <vector>

namespace paceline::launcher {

/// The recipe and what is the same for all trials, and the trial's own, as arguments.
std::vector<std::string> recipe_arguments(const SweepOptions& options, const Trial& trial);

/// What lies over those, as arguments of `paceline train`: of the trial, and settings of its rung.
std::vector<std::string> on_top_arguments(const Trial& trial,
                                          const std::vector<std::string>& settings);

/// Asks a program that knows the keys of recipes.
class RecipeProbe {
 public:
  /// `program` is this one; `environment` that of trials.
  RecipeProbe(std::string program, launch::Environment environment, Children& children)
      : program_(std::move(program)), environment_(std::move(environment)), children_(children) {}

  /// Of the recipe with the first of these trials that makes it a sound one; a trial without
  /// settings stands for the recipe alone. Throws the first's Error if there is none, and an Error
  /// with exit code 128 + signal if a signal came.
  RecipeFacts facts(const SweepOptions& options, std::span<const Trial> trials) const;

  /// Builds all of a trial's run without a step, for one trial after the other until one is sound.
  /// Throws the first's Error if none of the first ten is.
  void require_one_sound(const SweepOptions& options, std::span<const Trial> trials,
                         const std::vector<std::string>& on_top) const;

 private:
  struct Answer {
    int exit_code = 0;
    std::string printed = {};
    std::string words = {};  ///< of its error
  };
  Answer ask(const std::vector<std::string>& arguments) const;

  std::string program_;
  launch::Environment environment_;
  Children& children_;
};

}  // namespace paceline::launcher
