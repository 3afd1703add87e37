#include "paceline/launcher/step_toggle.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

/// Some numbers, as one of all rounds.
struct OverRounds {
  double median = 0;
  double least = 0;
  double most = 0;
};

OverRounds over_values(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double middle =
      values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {middle, values.front(), values.back()};
}

OverRounds over_rounds(std::span<const ToggleRound> rounds, double (ToggleRound::*number)() const) {
  std::vector<double> values;
  for (const ToggleRound& round : rounds) values.push_back((round.*number)());
  return over_values(std::move(values));
}

std::string text_of_rounds(const OverRounds& value) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f}) ms a step", value.median, value.least, value.most);
}

nlohmann::json json_of_rounds(const OverRounds& value) {
  return {{"median", value.median}, {"least", value.least}, {"most", value.most}};
}

/// When the last step of the warm-up ended and when each one after it, in seconds.
std::vector<double> ends_of_steps(std::string_view metrics, int warm_up) {
  std::vector<double> ends_s;
  for (const std::string& line : base::split(metrics, '\n')) {
    if (line.empty()) continue;
    const nlohmann::json values = base::parse_json(line);
    if (values.contains("train/loss")) ends_s.push_back(values.at("wall_time").get<double>());
  }
  const auto num_steps = static_cast<int>(ends_s.size());
  if (num_steps <= warm_up) {
    throw base::ConfigError(
        fmt::format("the run ended after {} steps, of which {} are warm-up: give more --steps",
                    num_steps, warm_up));
  }
  ends_s.erase(ends_s.begin(), ends_s.begin() + warm_up - 1);
  return ends_s;
}

}  // namespace

double mean_step_ms(std::string_view metrics, int warm_up) {
  const std::vector<double> ends_s = ends_of_steps(metrics, warm_up);
  return (ends_s.back() - ends_s.front()) * 1000 / static_cast<double>(ends_s.size() - 1);
}

double median_step_ms(std::string_view metrics, int warm_up) {
  const std::vector<double> ends_s = ends_of_steps(metrics, warm_up);
  std::vector<double> steps_ms;
  steps_ms.reserve(ends_s.size() - 1);
  for (std::size_t i = 1; i < ends_s.size(); ++i)
    steps_ms.push_back((ends_s[i] - ends_s[i - 1]) * 1000);
  return over_values(std::move(steps_ms)).median;
}

std::vector<std::string> toggle_table(std::span<const ToggleRound> rounds) {
  std::vector<std::string> lines{
      fmt::format("{:>5}{:>14}{:>14}{:>14}", "round", "ms without", "ms with", "ms added")};
  for (std::size_t i = 0; i < rounds.size(); ++i)
    lines.push_back(fmt::format("{:>5}{:>14.3f}{:>14.3f}{:>+14.3f}", i + 1, rounds[i].without(),
                                rounds[i].with(), rounds[i].added()));
  lines.emplace_back("medians of the rounds (least to most):");
  lines.push_back("without  " + text_of_rounds(over_rounds(rounds, &ToggleRound::without)));
  lines.push_back("with     " + text_of_rounds(over_rounds(rounds, &ToggleRound::with)));
  lines.push_back("added    " + text_of_rounds(over_rounds(rounds, &ToggleRound::added)));
  return lines;
}

std::string toggle_json(std::span<const ToggleRound> rounds, const std::string& threads_per_rank) {
  nlohmann::json list = nlohmann::json::array();
  for (const ToggleRound& round : rounds) list.push_back({{"ms", round.ms}});
  return nlohmann::json{{"threads_per_rank", std::stoi(threads_per_rank)},
                        {"rounds", list},
                        {"ms_without", json_of_rounds(over_rounds(rounds, &ToggleRound::without))},
                        {"ms_with", json_of_rounds(over_rounds(rounds, &ToggleRound::with))},
                        {"ms_added", json_of_rounds(over_rounds(rounds, &ToggleRound::added))}}
      .dump(2);
}

}  // namespace paceline::launcher
