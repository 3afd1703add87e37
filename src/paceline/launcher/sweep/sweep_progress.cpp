#include "paceline/launcher/sweep/sweep_progress.h"

#include "paceline/base/text.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace paceline::launcher {

int num_runs(const Sweep& sweep) {
  int count = 0;
  for (const Rung& rung : sweep.rungs) count += rung.num_trials;
  return count;
}

int num_ended(const Sweep& sweep) {
  int count = 0;
  for (const TrialRecord& record : sweep.records)
    count += static_cast<int>(record.metrics.size()) + (record.has_failed ? 1 : 0);
  return count;
}

double work_left(const Sweep& sweep) {
  double left = 0;
  for (std::size_t rung = 0; rung < sweep.rungs.size(); ++rung) {
    int ended = 0;
    for (const TrialRecord& record : sweep.records) {
      const bool has_failed_here = record.has_failed && record.metrics.size() == rung;
      if (record.metrics.size() > rung || has_failed_here) ++ended;
    }
    left += sweep.rungs[rung].work * std::max(0, sweep.rungs[rung].num_trials - ended);
  }
  return left;
}

std::string progress_text(const Sweep& sweep, const SweepProgress& progress) {
  std::string text = fmt::format("{}/{} done", num_ended(sweep), num_runs(sweep));
  if (progress.num_running > 0) text += fmt::format(", {} running", progress.num_running);
  const std::vector<std::size_t> order = ranking(sweep);
  if (!order.empty() && sweep.goal) {
    const std::size_t best = order.front();
    text += fmt::format("; best {} {:.4f} of trial {} ({})", sweep.goal->metric,
                        sweep.records[best].metrics.back(), sweep.trials[best].number,
                        describe(sweep.trials[best]));
  }
  const double left = work_left(sweep);
  if (progress.work_done > 0 && left > 0)
    text += fmt::format("; {} left",
                        base::format_duration(progress.elapsed_s * left / progress.work_done));
  return text;
}

std::string trial_text(const Sweep& sweep, std::size_t index) {
  const TrialRecord& record = sweep.records[index];
  const std::string name =
      fmt::format("trial {} ({})", sweep.trials[index].number, describe(sweep.trials[index]));
  if (record.has_failed)
    return fmt::format("{} failed with exit code {}: {}", name, record.exit_code, record.error);
  const std::string length = sweep.strategy == Strategy::kHalving
                                 ? " at " + sweep.rungs[record.metrics.size() - 1].duration
                                 : std::string();
  return fmt::format("{}: {} {:.4f}{} after {}", name,
                     sweep.goal ? std::string_view(sweep.goal->metric) : "metric",
                     record.metrics.back(), length, base::format_duration(record.elapsed_s));
}

}  // namespace paceline::launcher
