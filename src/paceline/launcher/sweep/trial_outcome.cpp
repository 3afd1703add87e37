#include "paceline/launcher/sweep/trial_outcome.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"
#include "paceline/config/parse.h"

#include <cstdlib>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

/// The rate is called by what the samples are: "images_per_s".
std::optional<double> step_ms_of(const nlohmann::json& summary) {
  if (!summary.contains("speed")) return std::nullopt;
  const double steps = summary.at("steps").get<double>();
  const double samples = summary.at("samples").get<double>();
  const nlohmann::json& speed = summary.at("speed");
  for (const auto& [key, value] : speed.items()) {
    if (!key.ends_with("_per_s") || value.get<double>() <= 0 || steps <= 0) continue;
    return 1000 * (samples / steps) / value.get<double>();
  }
  return std::nullopt;
}

TrialOutcome outcome_in(const nlohmann::json& summary) {
  TrialOutcome outcome;
  outcome.is_complete = summary.at("ended_by") != "signal";
  outcome.elapsed_s = summary.at("elapsed_s").get<double>();
  outcome.step_ms = step_ms_of(summary);
  for (const auto& [name, value] : summary.at("metrics").items()) {
    if (value.is_number()) outcome.metrics[name] = value.get<double>();
  }
  return outcome;
}

/// RUN/phases/2-whole, the last; the run itself without phases.
fs::path last_phase_of(const fs::path& run) {
  const fs::path phases = run / "phases";
  if (!base::folder_exists(phases)) return run;
  fs::path last = run;
  int most = 0;
  for (const auto& entry : fs::directory_iterator(phases)) {
    const int number = std::atoi(entry.path().filename().c_str());
    if (entry.is_directory() && number > most) {
      most = number;
      last = entry.path();
    }
  }
  return last;
}

}  // namespace

TrialOutcome read_outcome(std::string_view summary, int num_phases) try {
  const nlohmann::json written = base::parse_json(summary);
  if (num_phases == 0) return outcome_in(written);
  TrialOutcome outcome;
  double elapsed_s = 0;
  for (const nlohmann::json& phase : written.at("phases")) {
    outcome = outcome_in(phase.at("summary"));
    elapsed_s += outcome.elapsed_s;
  }
  outcome.elapsed_s = elapsed_s;
  const bool has_all = written.at("phases").size() == static_cast<std::size_t>(num_phases);
  outcome.is_complete = outcome.is_complete && has_all;
  return outcome;
} catch (const nlohmann::json::exception& error) {
  throw base::DataError(fmt::format("summary.json is not one of a run: {}", error.what()));
}

std::optional<TrialOutcome> outcome_of(const fs::path& run, int num_phases) {
  const fs::path file = run / "summary.json";
  if (!base::file_exists(file)) return std::nullopt;
  return read_outcome(base::read_file(file), num_phases);
}

void take_outcome(const TrialOutcome& outcome, const MetricGoal& goal, TrialRecord& record) {
  record.exit_code = 0;
  record.elapsed_s = outcome.elapsed_s;
  if (outcome.step_ms) record.step_ms = outcome.step_ms;  // else the last start did no step
  const auto metric = outcome.metrics.find(goal.metric);
  record.has_failed = metric == outcome.metrics.end();
  if (!record.has_failed) {
    record.error.clear();
    record.metrics.push_back(metric->second);
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : outcome.metrics) names.push_back(name);
  record.error = fmt::format("the run has no metric {}; it has {}", goal.metric,
                             names.empty() ? "none" : base::join(names, ", "));
}

MetricGoal goal_of_run(const fs::path& run) {
  const fs::path file = last_phase_of(run) / "config.yaml";
  const config::Node written = config::parse_file(file);
  const config::Node* monitor = written.find_path("checkpoint.monitor");
  const config::Node* mode = written.find_path("checkpoint.mode");
  if (monitor == nullptr || monitor->is_null())
    throw base::ConfigError(fmt::format(
        "{} does not tell checkpoint.monitor: name the metric by --metric", file.string()));
  MetricGoal goal{.metric = monitor->text, .is_less_better = is_less_better_by_name(monitor->text)};
  if (mode != nullptr && !mode->is_null()) goal.is_less_better = mode->text == "min";
  return goal;
}

}  // namespace paceline::launcher
