#include "paceline/launcher/sweep/sweep_state.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"
#include "paceline/config/parse.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <charconv>

#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string value_of(const std::vector<Setting>& plan, const std::string& key) {
  const auto found = std::ranges::find(plan, key, &Setting::key);
  return found == plan.end() ? "nothing" : found->value;
}

/// Trials of which the first stay as they are when there are more.
bool may_grow(const std::string& key, Strategy strategy, const std::string& before,
              const std::string& now) {
  const bool can = (key == "trials" && strategy == Strategy::kRandom) ||
                   (key == "seeds" && strategy == Strategy::kAblation);
  int from = 0;
  int to = 0;
  std::from_chars(before.data(), before.data() + before.size(), from);
  std::from_chars(now.data(), now.data() + now.size(), to);
  return can && from > 0 && to >= from;
}

std::vector<std::optional<double>> metrics_on(const Sweep& sweep, std::size_t rung) {
  std::vector<std::optional<double>> metrics;
  for (const TrialRecord& record : sweep.records) {
    const bool has_it = record.metrics.size() > rung;
    metrics.push_back(has_it ? std::optional(record.metrics[rung]) : std::nullopt);
  }
  return metrics;
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const std::optional<Estimate>& estimate) {
  if (!estimate) return nullptr;
  return {{"mean", estimate->mean},
          {"standard_error", or_null(estimate->error)},
          {"seeds", estimate->count}};
}

Json json_of(const std::vector<Setting>& settings) {
  Json object = Json::object();
  for (const Setting& setting : settings) object[setting.key] = setting.value;
  return object;
}

Json trial_json(const Sweep& sweep, std::size_t index) {
  const TrialRecord& record = sweep.records[index];
  const char* state = record.has_failed ? "failed" : record.is_done() ? "done" : "waiting";
  return {{"number", sweep.trials[index].number},
          {"settings", json_of(sweep.trials[index].settings)},
          {"state", state},
          {"metrics", record.metrics},
          {"elapsed_s", record.elapsed_s},
          {"step_ms", or_null(record.step_ms)},
          {"exit_code", record.exit_code},
          {"error", record.error},
          {"run", folder_name(sweep.trials[index])}};
}

TrialRecord record_of(const Json& trial) {
  TrialRecord record{.metrics = trial.at("metrics").get<std::vector<double>>(),
                     .step_ms = std::nullopt,
                     .elapsed_s = trial.at("elapsed_s").get<double>(),
                     .has_failed = trial.at("state") == "failed",
                     .exit_code = trial.at("exit_code").get<int>(),
                     .error = trial.at("error").get<std::string>()};
  if (!trial.at("step_ms").is_null()) record.step_ms = trial.at("step_ms").get<double>();
  return record;
}

}  // namespace

std::vector<Setting> plan_of(const SweepOptions& options) {
  std::vector<Setting> plan{{"strategy", name_of(options.strategy)}};
  for (const Axis& axis : options.space.axes) plan.push_back({axis.key, axis.text});
  plan.push_back({"overrides", base::join(options.space.fixed, " ")});
  if (options.num_trials > 0) {
    plan.push_back({"trials", std::to_string(options.num_trials)});
    plan.push_back({"seed", std::to_string(options.seed)});
  }
  if (options.strategy == Strategy::kHalving) {
    plan.push_back({"min-duration", options.min_duration});
    plan.push_back(
        {"max-duration", options.max_duration.empty() ? "the recipe's" : options.max_duration});
    plan.push_back({"reduction-factor", std::to_string(options.reduction_factor)});
  }
  if (options.strategy == Strategy::kAblation) {
    plan.push_back(
        {"ablate", options.ablated.empty() ? "each algorithm" : base::join(options.ablated, " ")});
    plan.push_back({"seeds", std::to_string(options.num_seeds)});
  }
  plan.push_back({"metric", options.metric.value_or("the recipe's")});
  if (options.is_less_better) plan.push_back({"mode", *options.is_less_better ? "min" : "max"});
  return plan;
}

void require_same_plan(const std::vector<Setting>& before, const std::vector<Setting>& now,
                       Strategy strategy) {
  std::vector<std::string> keys;
  for (const auto* plan : {&before, &now}) {
    for (const Setting& setting : *plan) {
      if (std::ranges::find(keys, setting.key) == keys.end()) keys.push_back(setting.key);
    }
  }
  for (const std::string& key : keys) {
    const std::string was = value_of(before, key);
    const std::string is = value_of(now, key);
    if (was == is || may_grow(key, strategy, was, is)) continue;
    throw base::ConfigError(fmt::format("{} was {}, is {}", key, was, is));
  }
}

std::vector<std::size_t> members_of_rung(const Sweep& sweep, std::size_t rung) {
  std::vector<std::size_t> members;
  if (rung == 0) {
    for (std::size_t i = 0; i < sweep.trials.size(); ++i) members.push_back(i);
    return members;
  }
  const auto count = static_cast<std::size_t>(sweep.rungs[rung].num_trials);
  const bool is_less_better = sweep.goal && sweep.goal->is_less_better;
  return best_of(metrics_on(sweep, rung - 1), count, is_less_better);
}

std::vector<std::size_t> ranking(const Sweep& sweep) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < sweep.records.size(); ++i) {
    if (sweep.records[i].is_done()) order.push_back(i);
  }
  const bool is_less_better = sweep.goal && sweep.goal->is_less_better;
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    const std::vector<double>& one = sweep.records[left].metrics;
    const std::vector<double>& other = sweep.records[right].metrics;
    if (one.size() != other.size()) return one.size() > other.size();
    return is_less_better ? one.back() < other.back() : one.back() > other.back();
  });
  return order;
}

std::vector<AblationRow> ablation_of(const Sweep& sweep) {
  std::vector<AblationSample> samples;
  for (const TrialRecord& record : sweep.records) {
    AblationSample& sample = samples.emplace_back();
    if (!record.is_done()) continue;
    sample = {.metric = record.metrics.back(), .step_ms = record.step_ms};
  }
  return ablation_rows(sweep.parts, samples);
}

std::string folder_name(const Trial& trial) { return fmt::format("trials/{:04}", trial.number); }

std::string to_json(const Sweep& sweep) {
  Json json{{"format", kFormat}, {"plan", json_of(sweep.plan)}};
  if (sweep.goal)
    json["goal"] = {{"metric", sweep.goal->metric},
                    {"mode", sweep.goal->is_less_better ? "min" : "max"}};
  if (sweep.strategy == Strategy::kHalving) {
    json["rungs"] = Json::array();
    for (const Rung& rung : sweep.rungs)
      json["rungs"].push_back({{"duration", rung.duration}, {"trials", rung.num_trials}});
  }
  const std::vector<std::size_t> order = ranking(sweep);
  json["best"] = order.empty() ? Json() : Json(sweep.trials[order.front()].number);
  json["trials"] = Json::array();
  for (std::size_t i = 0; i < sweep.trials.size(); ++i)
    json["trials"].push_back(trial_json(sweep, i));
  if (!sweep.parts.empty()) {
    json["ablation"] = Json::array();
    for (const AblationRow& row : ablation_of(sweep))
      json["ablation"].push_back({{"part", row.part},
                                  {"whole", json_of(row.whole)},
                                  {"without", json_of(row.without)},
                                  {"metric_difference", json_of(row.metric_delta)},
                                  {"step_ms_difference", json_of(row.step_ms_delta)}});
  }
  json["recipe"] = config::to_yaml(sweep.recipe);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

SavedSweep read_sweep(const std::string& text, const std::string& path) try {
  const Json json = base::parse_ordered_json(text);
  SavedSweep saved;
  if (json.at("format") != kFormat)
    throw base::CheckpointError(
        fmt::format("{} is of another paceline: name another --sweep-dir", path));
  for (const auto& [key, value] : json.at("plan").items())
    saved.plan.push_back({key, value.get<std::string>()});
  saved.recipe = config::parse_yaml(json.at("recipe").get<std::string>(), path);
  if (json.contains("goal"))
    saved.goal = MetricGoal{.metric = json["goal"].at("metric").get<std::string>(),
                            .is_less_better = json["goal"].at("mode") == "min"};
  for (const Json& trial : json.at("trials")) saved.records.push_back(record_of(trial));
  return saved;
} catch (const base::JsonError& error) {
  throw base::CheckpointError(
      fmt::format("{} is damaged ({}): name another --sweep-dir", path, error.what()));
} catch (const nlohmann::json::exception& error) {
  throw base::CheckpointError(
      fmt::format("{} is no sweep's ({}): name another --sweep-dir", path, error.what()));
}

}  // namespace paceline::launcher
