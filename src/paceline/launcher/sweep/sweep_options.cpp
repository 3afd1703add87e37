#include "paceline/launcher/sweep/sweep_options.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/launch/options.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launcher/sweep/halving.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <string_view>

namespace paceline::launcher {
namespace {

constexpr int kMostTrials = 10'000;
constexpr int kMostJobs = 1024;

constexpr std::array kStrategies{
    std::pair{Strategy::kGrid, "grid"}, std::pair{Strategy::kRandom, "random"},
    std::pair{Strategy::kHalving, "halving"}, std::pair{Strategy::kAblation, "ablate"}};

/// What was given; what follows from it is decided by decide().
struct Given {
  std::optional<Strategy> strategy;
  bool has_trials = false;
  bool has_seed = false;
  bool has_seeds = false;
  bool has_factor = false;
  bool ablates = false;
  std::vector<std::string> others;
};

Strategy strategy_of(const std::string& text) {
  for (const auto& [strategy, name] : kStrategies) {
    if (text == name && strategy != Strategy::kAblation) return strategy;
  }
  throw base::ConfigError(
      fmt::format("--strategy wants grid, random or halving, but it is \"{}\"", text));
}

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t seed = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    throw base::ConfigError(
        fmt::format("--seed wants a whole number from 0 on, but it is \"{}\"", text));
  return seed;
}

bool is_less_better(const std::string& mode) {
  if (mode != "min" && mode != "max")
    throw base::ConfigError(fmt::format("--mode wants min or max, but it is \"{}\"", mode));
  return mode == "min";
}

using Take = std::function<void(const std::string& value)>;

/// The options with a value.
std::map<std::string, Take, std::less<>> takers(SweepOptions& options, Given& given) {
  const auto whole = [](const char* name, int low, int high, int& target, bool* is_given) {
    return [=, &target](const std::string& text) {
      target = launch::parse_int(name, text, low, high);
      if (is_given != nullptr) *is_given = true;
    };
  };
  return {
      {"--strategy", [&](const auto& text) { given.strategy = strategy_of(text); }},
      {"--trials", whole("--trials", 1, kMostTrials, options.num_trials, &given.has_trials)},
      {"--seed",
       [&](const auto& text) {
         options.seed = seed_of(text);
         given.has_seed = true;
       }},
      {"--metric", [&](const auto& text) { options.metric = text; }},
      {"--mode", [&](const auto& text) { options.is_less_better = is_less_better(text); }},
      {"--jobs", whole("--jobs", 1, kMostJobs, options.num_jobs, nullptr)},
      {"--sweep-dir", [&](const auto& text) { options.folder = text; }},
      {"--reduction-factor",
       whole("--reduction-factor", 2, 100, options.reduction_factor, &given.has_factor)},
      {"--min-duration", [&](const auto& text) { options.min_duration = text; }},
      {"--max-duration", [&](const auto& text) { options.max_duration = text; }},
      {"--seeds", whole("--seeds", 1, kMostTrials, options.num_seeds, &given.has_seeds)},
  };
}

[[noreturn]] void refuse_option(const std::string& name,
                                const std::map<std::string, Take, std::less<>>& known) {
  const std::map<std::string_view, std::string_view> advice{
      {"--run-dir", "a sweep has a folder of its own: --sweep-dir"},
      {"--resume", "the same command goes on with the sweep in its folder"},
      {"--detach", "put it behind nohup or setsid; the same command goes on with it"},
      {"--n-trials", "write --trials"},
      {"--n_trials", "write --trials"},
      {"--num-samples", "write --trials"},
      {"--direction", "write --mode min or --mode max"},
      {"--multirun", "a sweep is one by itself"}};
  if (const auto found = advice.find(name); found != advice.end())
    throw base::ConfigError(fmt::format("there is no option {}: {}", name, found->second));
  std::vector<std::string> names{"--ablate", "--retry-failed", "--nproc", "--grace"};
  for (const auto& [other, take] : known) names.push_back(other);
  const std::string nearest = base::nearest_name(name, names);
  throw base::ConfigError(fmt::format("there is no option {}{}", name,
                                      nearest.empty() ? "; `paceline sweep --help` lists them"
                                                      : "; did you mean " + nearest + "?"));
}

/// Those of trials; the rest is recipe and overrides.
std::vector<std::string> take_launch_options(const std::vector<std::string>& arguments,
                                             SweepOptions& options) {
  const launch::ExtractedOptions extracted = launch::extract_launch_options(arguments);
  const launch::LaunchOptions& launching = extracted.options;
  if (launching.detach)
    throw base::ConfigError(
        "a sweep is not detached: put it behind nohup or setsid; the same command goes on with it");
  if (launching.nnodes || launching.node_rank || launching.master_addr || launching.master_port ||
      launching.rdzv_id || launching.log_dir || launching.rdzv_timeout_seconds)
    throw base::ConfigError(
        "a sweep's trials run on this machine: of the launch options it takes --nproc and --grace");
  if (launching.nproc_auto) {
    options.num_ranks = 0;
    options.launch_options = {"--nproc", "auto"};
  } else if (launching.nproc) {
    options.num_ranks = *launching.nproc;
    options.launch_options = {"--nproc", std::to_string(*launching.nproc)};
  }
  if (launching.grace_seconds) {
    options.grace_seconds = launching.grace_seconds;
    options.launch_options.insert(options.launch_options.end(),
                                  {"--grace", fmt::format("{}", *launching.grace_seconds)});
  }
  return extracted.rest;
}

bool is_override(const std::string& argument) {
  return argument.find('=') != std::string::npos || argument.starts_with('+') ||
         argument.starts_with('~');
}

void read_arguments(const std::vector<std::string>& arguments, SweepOptions& options,
                    Given& given) {
  const auto known = takers(options, given);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::string name = argument.substr(0, argument.find('='));
    const bool has_value = name.size() < argument.size();
    if (const auto take = known.find(name); take != known.end()) {
      if (!has_value && i + 1 == arguments.size()) throw base::ConfigError(name + " wants a value");
      take->second(has_value ? argument.substr(name.size() + 1) : arguments[++i]);
    } else if (name == "--ablate") {
      given.ablates = true;
      if (has_value) options.ablated.push_back(argument.substr(name.size() + 1));
    } else if (argument == "--retry-failed") {
      options.retries_failed = true;
    } else {
      given.others.push_back(argument);
    }
  }
  std::vector<std::string> overrides;
  for (const std::string& argument : take_launch_options(given.others, options)) {
    if (argument.starts_with('-')) refuse_option(argument.substr(0, argument.find('=')), known);
    if (is_override(argument)) {
      overrides.push_back(argument);
    } else if (options.recipe.empty()) {
      options.recipe = argument;
    } else {
      throw base::ConfigError(fmt::format("a sweep is of one recipe, but there are {} and {}",
                                          options.recipe, argument));
    }
  }
  options.space = parse_search_space(overrides);
}

void refuse_if(bool is_wrong, std::string_view message) {
  if (is_wrong) throw base::ConfigError(std::string(message));
}

void check_ablation(const SweepOptions& options, const Given& given) {
  refuse_if(given.ablates && given.strategy.has_value(),
            "--ablate is a strategy of its own: leave --strategy out");
  refuse_if(given.ablates && !options.space.axes.empty(),
            "--ablate varies what it leaves out and run.seed: give other keys one value each");
  refuse_if(given.has_seeds && !given.ablates,
            "--seeds is for --ablate; elsewhere vary the key: run.seed=1,2,3");
}

void check_draws(const SweepOptions& options, const Given& given) {
  const bool may_draw =
      options.strategy == Strategy::kHalving && (given.has_trials || options.space.has_draws());
  const bool draws = options.strategy == Strategy::kRandom || may_draw;
  refuse_if(draws && !given.has_trials, "drawn trials want a number: --trials N");
  refuse_if(given.has_trials && !draws,
            "--trials is for --strategy random and halving: a grid has all combinations");
  refuse_if(given.has_seed && !draws,
            "--seed is that of draws: it goes with --strategy random, and halving of drawn trials");
}

void check_halving(const SweepOptions& options, const Given& given) {
  const bool is_halving = options.strategy == Strategy::kHalving;
  const bool has_lengths =
      given.has_factor || !options.min_duration.empty() || !options.max_duration.empty();
  refuse_if(!is_halving && has_lengths,
            "--min-duration, --max-duration and --reduction-factor are for --strategy halving");
  if (!is_halving) return;
  refuse_if(options.min_duration.empty(),
            "halving wants --min-duration, the length after which trials are first compared, as in "
            "--min-duration 1ep");
  CountedDuration::parse("--min-duration", options.min_duration);
  if (!options.max_duration.empty()) CountedDuration::parse("--max-duration", options.max_duration);
  for (const Axis& axis : options.space.axes)
    refuse_if(axis.key == "train.duration",
              "halving decides how long trials train: leave train.duration out of the keys");
}

/// The strategy, and what does not go with it.
void decide(SweepOptions& options, const Given& given) {
  refuse_if(options.recipe.empty(), "sweep wants a recipe; `paceline sweep --help` tells more");
  refuse_if(!given.ablates && options.space.axes.empty(),
            "sweep wants a key with several values, as in optimizer.lr=0.1,0.2 or "
            "'optimizer.lr=log(1e-4,1e-1)'");
  const Strategy usual = given.ablates               ? Strategy::kAblation
                         : options.space.has_draws() ? Strategy::kRandom
                                                     : Strategy::kGrid;
  options.strategy = given.strategy.value_or(usual);
  check_ablation(options, given);
  check_draws(options, given);
  check_halving(options, given);
}

}  // namespace

const char* const kSweepHelp = R"(
Trains a recipe once for each choice of values, and tells which is best. Each trial is a
run of its own below the sweep's folder. The same command goes on with a sweep that was
stopped or killed: what is finished is not repeated, what was interrupted is resumed.

  key=a,b,c               the values of a key; commas in [ ], { } and quotes do not count
  'key=log(1e-4,1e-1)'    drawn, its logarithm evenly
  'key=uniform(0,1)'      drawn evenly
  'key=int(1,8)'          a whole number, both ends included
  key=value               for all trials, as with paceline train

  --strategy S            grid: all combinations, the default; random: --trials N drawn
                          ones, the default where a key is drawn; halving: successive
                          halving, of drawn trials or, without --trials, of a grid
  --trials N              how many are drawn
  --seed N                of the draws; default 0. A trial's values follow from seed and
                          number alone
  --metric NAME           of a run's last evaluation; default checkpoint.monitor
  --mode min|max          which is better; default checkpoint.mode, or by the name
  --jobs J                trials side by side, each with its share of the GPUs, or of the
                          cores; default 1
  --sweep-dir DIR         default: run.dir/run.name-sweep
  --retry-failed          start those that failed again, from their last checkpoints
  --nproc N|auto, --grace SECONDS   of each trial, as with paceline train

Successive halving: all trials train to the shortest duration, the best of them go on to
one K times as long, and so on. Schedules are those of the longest duration from the
start, so that a trial that gets there is the run that it would have been by itself.

  --min-duration D        the shortest, in whole epochs or steps: 1ep, 500ba
  --max-duration D        the longest; default the recipe's train.duration
  --reduction-factor K    of K trials one goes on; default 3

Ablation: the recipe whole, and without each of its parts, over seeds.

  --ablate                each algorithm of the recipe is such a part
  --ablate=PART           this one; may be repeated. An algorithm, several that are left
                          out together (mixup+cutmix), or an override that turns something
                          off (loss.label_smoothing=0)
  --seeds N               run.seed and the N - 1 after it; default 3

The folder holds sweep.csv, sweep.json and sweep.svg, ablation.csv of an ablation, and in
trials/ each trial's run and what it printed. The exit code is 0 if all trials ended well,
1 if some failed, 2 if the recipe is wrong for all, and 128 + the signal that stopped it.
)";

std::string name_of(Strategy strategy) {
  for (const auto& [other, name] : kStrategies) {
    if (other == strategy) return name;
  }
  return "";
}

SweepOptions parse_sweep_options(const std::vector<std::string>& arguments) {
  SweepOptions options;
  Given given;
  read_arguments(arguments, options, given);
  decide(options, given);
  return options;
}

}  // namespace paceline::launcher
