#include "paceline/launcher/sweep/sweep_folder.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/launcher/sweep/sweep_chart.h"
#include "paceline/launcher/sweep/sweep_table.h"
#include "paceline/launcher/sweep/trial_outcome.h"

#include <algorithm>
#include <utility>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

void require_same(const SavedSweep& saved, const Sweep& sweep, const fs::path& folder) {
  const auto refuse = [&](const std::string& difference) {
    throw base::ConfigError(fmt::format(
        "{} holds another sweep: {}. Put that back to go on with it, or name another --sweep-dir",
        folder.string(), difference));
  };
  try {
    require_same_plan(saved.plan, sweep.plan, sweep.strategy);
  } catch (const base::ConfigError& error) {
    refuse(error.what());
  }
  if (const auto difference = first_difference(saved.recipe, sweep.recipe)) refuse(*difference);
}

/// A run that ended well while nobody was there to write it down.
void adopt(TrialRecord& record, const fs::path& run, int num_phases,
           std::optional<MetricGoal>& goal) {
  const std::optional<TrialOutcome> outcome = outcome_of(run, num_phases);
  if (!outcome || !outcome->is_complete) return;
  if (!goal) goal = goal_of_run(run);
  take_outcome(*outcome, *goal, record);
}

}  // namespace

SweepFolder::SweepFolder(fs::path path, SearchSpace space)
    : path_(std::move(path)), space_(std::move(space)), lock_(path_, files_) {
  base::create_durable_directories(files_, path_ / "trials");
}

fs::path SweepFolder::log_of(const Trial& trial) const {
  return path_ / (folder_name(trial) + ".log");
}

bool SweepFolder::restore(Sweep& sweep, int num_phases, bool retries_failed) const {
  const fs::path file = path_ / "sweep.json";
  if (!base::file_exists(file)) return false;
  const SavedSweep saved = read_sweep(base::read_file(file), file.string());
  require_same(saved, sweep, path_);
  std::copy_n(saved.records.begin(), std::min(saved.records.size(), sweep.records.size()),
              sweep.records.begin());
  if (saved.goal) sweep.goal = saved.goal;
  for (std::size_t i = 0; i < sweep.records.size(); ++i) {
    TrialRecord& record = sweep.records[i];
    if (record.has_failed && retries_failed) {
      record.has_failed = false;
      record.error.clear();
    } else if (record.metrics.empty() && !record.has_failed) {
      adopt(record, run_of(sweep.trials[i]), num_phases, sweep.goal);
    }
  }
  return true;
}

void SweepFolder::write(const Sweep& sweep) {
  base::write_file_atomically(files_, path_ / "sweep.json", to_json(sweep));
  base::write_file_atomically(files_, path_ / "sweep.csv", trial_csv(sweep));
  base::write_file_atomically(files_, path_ / "sweep.svg", sweep_svg(sweep, space_));
  if (!sweep.parts.empty())
    base::write_file_atomically(files_, path_ / "ablation.csv", ablation_csv(sweep));
}

}  // namespace paceline::launcher
