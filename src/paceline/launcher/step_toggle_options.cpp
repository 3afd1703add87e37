#include "paceline/launcher/step_toggle_options.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/launch/rank_info.h"

#include <array>

namespace paceline::launcher {
namespace {

constexpr int kMostToggledSteps = 1'000'000;
constexpr int kMostRounds = 1'000;

[[noreturn]] void refuse_toggle_option(const std::string& name) {
  const std::array<std::string, 8> names{"--toggle",  "--nproc", "--rounds", "--steps",
                                         "--warm-up", "--phase", "--median", "--json"};
  const std::string nearest = base::nearest_name(name, names);
  throw base::ConfigError(fmt::format("bench step has no option {}{}", name,
                                      nearest.empty() ? "; `paceline bench --help` lists them"
                                                      : "; did you mean " + nearest + "?"));
}

void check_toggle(const StepToggleOptions& options) {
  if (options.recipe.empty())
    throw base::ConfigError("bench step wants a recipe; `paceline bench --help` tells more");
  if (options.toggles.empty())
    throw base::ConfigError(
        "bench step wants what is to be switched on and off: --toggle KEY=VALUE, as in --toggle "
        "+algorithms.mixup");
}

}  // namespace

const char* const kStepToggleHelp = R"(
bench step trains the recipe in turn without, with, with and without what --toggle says,
each time in a process of its own, and tells how many milliseconds that adds to a step.
A run's step is the mean of those after the warm-up, so that what acts in every tenth
step alone counts too. Evaluation and checkpoints do not count.

  --toggle KEY=VALUE  a change of the recipe as on the command line of train:
                      +algorithms.mixup, train.channels_last=false, ~algorithms.ema;
                      several make one toggle
  --nproc N           ranks of this machine; default 1
  --rounds N          of four runs each; default 3
  --steps N           steps of a run that are measured; default 20
  --warm-up N         steps before; default 5
  --phase NAME        of the recipe's phases this one; else the first
  --median            a run's step is the median one, which a step that something else
                      slowed down does not move: for what acts in every step alike
  --json              print one JSON object
)";

StepToggleOptions parse_step_toggle_options(const std::vector<std::string>& arguments) {
  StepToggleOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    const auto value = [&] {
      if (name.size() < argument.size()) return argument.substr(name.size() + 1);
      if (++i == arguments.size()) throw base::ConfigError(name + " wants a value");
      return arguments[i];
    };
    const auto count = [&](int most) { return launch::parse_int(name, value(), 1, most); };
    if (name == "--toggle") {
      options.toggles.push_back(value());
    } else if (name == "--nproc") {
      options.nproc = count(launch::kMaxRanks);
    } else if (name == "--rounds") {
      options.rounds = count(kMostRounds);
    } else if (name == "--steps") {
      options.steps = count(kMostToggledSteps);
    } else if (name == "--warm-up") {
      options.warm_up = count(kMostToggledSteps);
    } else if (name == "--phase") {
      options.phase = value();
    } else if (argument == "--median") {
      options.takes_median = true;
    } else if (argument == "--json") {
      options.as_json = true;
    } else if (argument.starts_with('-')) {
      refuse_toggle_option(name);
    } else {
      options.recipe.push_back(argument);
    }
  }
  check_toggle(options);
  return options;
}

}  // namespace paceline::launcher
