#pragma once

#include "paceline/launcher/sweep/search_space.h"

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::launcher {

/// What a trial is told apart by.
struct Setting {
  std::string key = {};    ///< of the recipe, without the marks of an override
  std::string value = {};  ///< YAML in flow style

  bool operator==(const Setting&) const = default;
};

/// One run of a sweep.
struct Trial {
  int number = 0;  ///< from 1
  std::vector<Setting> settings = {};
  std::vector<std::string> overrides = {};  ///< that make the settings
  std::vector<std::string> on_top = {};     ///< likewise, over whatever else is given
};

/// "optimizer.lr=0.1 model.name=vit": the settings as a user would write them.
std::string describe(const Trial& trial);

/// Every combination, the last key's values next to each other. Throws ConfigError for a key that
/// is drawn, or more than 10,000 trials.
std::vector<Trial> grid_trials(const SearchSpace& space);

/// Values drawn, or picked from a list, by Philox: a trial's are a function of seed, number and the
/// keys' names alone, so that more trials leave the first as they are. Numbers have six digits.
std::vector<Trial> random_trials(const SearchSpace& space, int count, std::uint64_t seed);

}  // namespace paceline::launcher
