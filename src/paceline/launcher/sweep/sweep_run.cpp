#include "paceline/launcher/sweep/sweep_run.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/progress_line.h"
#include "paceline/launch/outcome.h"
#include "paceline/launch/rank_info.h"
#include "paceline/launcher/children/children.h"
#include "paceline/launcher/sweep/recipe_probe.h"
#include "paceline/launcher/sweep/rung_settings.h"
#include "paceline/launcher/sweep/sweep_folder.h"
#include "paceline/launcher/sweep/sweep_progress.h"
#include "paceline/launcher/sweep/sweep_state.h"
#include "paceline/launcher/sweep/sweep_table.h"
#include "paceline/launcher/sweep/trial_queue.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

std::vector<Trial> trials_of(const SweepOptions& options, const std::vector<AblationPart>& parts,
                             std::int64_t first_seed) {
  if (options.strategy == Strategy::kAblation)
    return ablation_trials(parts, first_seed, options.num_seeds);
  return options.num_trials > 0 ? random_trials(options.space, options.num_trials, options.seed)
                                : grid_trials(options.space);
}

/// One without a duration stands for runs that are as long as their recipes say.
std::vector<Rung> rungs_of(const SweepOptions& options, const RecipeFacts& facts, int num_trials) {
  if (options.strategy != Strategy::kHalving)
    return {{.duration = "", .work = 1, .num_trials = num_trials}};
  if (facts.num_phases > 0)
    throw base::ConfigError(
        "halving trains each trial in one piece that gets longer, and the recipe has phases: leave "
        "them out, or write --strategy grid or random");
  const auto shortest = CountedDuration::parse("--min-duration", options.min_duration);
  if (options.max_duration.empty() && !facts.duration)
    throw base::ConfigError(
        "halving wants --max-duration, as the recipe's train.duration is a list");
  const auto longest =
      options.max_duration.empty()
          ? CountedDuration::parse("--max-duration (the recipe's train.duration)", *facts.duration)
          : CountedDuration::parse("--max-duration", options.max_duration);
  return halving_rungs(num_trials, shortest, longest, options.reduction_factor);
}

/// Nothing if only a run can tell.
std::optional<MetricGoal> goal_of(const SweepOptions& options, const RecipeFacts& facts) {
  const std::optional<std::string> metric = options.metric ? options.metric : facts.monitor;
  if (!metric) return std::nullopt;
  MetricGoal goal{.metric = *metric, .is_less_better = is_less_better_by_name(*metric)};
  if (metric == facts.monitor && facts.mode) goal.is_less_better = *facts.mode == "min";
  if (options.is_less_better) goal.is_less_better = *options.is_less_better;
  return goal;
}

void require_evaluations(const SweepOptions& options, const RecipeFacts& facts) {
  if (facts.eval_every || options.strategy == Strategy::kHalving) return;
  throw base::ConfigError(
      "a sweep compares metrics of evaluations, and train.eval_every is null: give it a length");
}

/// The sweep before any of its trials.
Sweep plan_sweep(const SweepOptions& options, const RecipeFacts& facts) {
  Sweep sweep{.strategy = options.strategy, .plan = plan_of(options), .recipe = facts.resolved};
  if (options.strategy == Strategy::kAblation)
    sweep.parts = ablation_parts(options.ablated, facts.algorithms);
  sweep.trials = trials_of(options, sweep.parts, facts.seed);
  sweep.rungs = rungs_of(options, facts, static_cast<int>(sweep.trials.size()));
  sweep.goal = goal_of(options, facts);
  sweep.records.resize(sweep.trials.size());
  return sweep;
}

RecipeFacts facts_of(const SweepOptions& options, const RecipeProbe& probe) {
  std::vector<Trial> candidates{Trial{}};  // the recipe as it is
  if (options.strategy != Strategy::kAblation) {
    const std::vector<Trial> trials = trials_of(options, {}, 0);
    candidates.insert(candidates.end(), trials.begin(), trials.end());
  }
  return probe.facts(options, candidates);
}

fs::path folder_of(const SweepOptions& options, const RecipeFacts& facts) {
  const fs::path folder =
      options.folder.value_or(fs::path(facts.run_dir) / (facts.run_name + "-sweep"));
  return fs::absolute(folder).lexically_normal();
}

void print(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) std::fputs((line + "\n").c_str(), stdout);
}

/// The exit code; the tables go to standard output.
int tell_results(const Sweep& sweep, const fs::path& folder) {
  print(trial_table(sweep));
  if (!sweep.parts.empty()) {
    std::fputs("\n", stdout);
    print(ablation_table(sweep));
  }
  std::fflush(stdout);
  std::fprintf(stderr, "paceline: sweep.csv, sweep.json and sweep.svg are in %s\n", folder.c_str());
  const auto num_failed = std::ranges::count(sweep.records, true, &TrialRecord::has_failed);
  if (num_failed == 0) return 0;
  std::fprintf(stderr,
               "paceline: %td of %zu trials failed; trials/NUMBER.log there is what each printed, "
               "and --retry-failed starts them again\n",
               num_failed, sweep.trials.size());
  constexpr int kSomeFailed = 1;
  return kSomeFailed;
}

}  // namespace

int run_sweep(const SweepOptions& options, const std::string& program) {
  const launch::Environment environment = launch::Environment::of_process();
  const launch::LaunchedBy outer = launch::read_rank_info(environment).launched_by;
  if (outer != launch::LaunchedBy::kNobody)
    throw base::ConfigError(
        fmt::format("a sweep starts runs itself, but {} has started it as one rank of several",
                    name_of(outer)));
  Children children;
  const std::vector<MachineShare> shares =
      share_machine(parts_of_this_machine(environment), options.num_jobs);
  const RecipeProbe probe(
      program, environment_of(shares[0], options.num_jobs, options.num_ranks, environment),
      children);
  const RecipeFacts facts = facts_of(options, probe);
  require_evaluations(options, facts);
  Sweep sweep = plan_sweep(options, facts);
  const fs::path path = folder_of(options, facts);
  SweepFolder folder(path, options.space);
  const bool goes_on = folder.restore(sweep, facts.num_phases, options.retries_failed);
  if (!goes_on) {
    probe.require_one_sound(options, sweep.trials, rung_settings(sweep.rungs, 0, facts));
    folder.write(sweep);
  }
  TrialQueue queue({.options = options,
                    .facts = facts,
                    .program = program,
                    .environment = environment,
                    .shares = shares},
                   sweep, folder, children);
  queue.run();
  return tell_results(sweep, path);
}

}  // namespace paceline::launcher
