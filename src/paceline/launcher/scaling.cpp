#include "paceline/launcher/scaling.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/base/text.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/rank_info.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

namespace paceline::launcher {
namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double speed_up(const ScalingRow& row, const ScalingRow& first) {
  return row.rate.samples_per_s / first.rate.samples_per_s;
}

double efficiency(const ScalingRow& row, const ScalingRow& first) {
  return speed_up(row, first) * first.shape.ranks() / row.shape.ranks();
}

double of_ceiling(const ScalingRow& row) {
  return row.rate.samples_per_s / row.ceiling_samples_per_s;
}

}  // namespace

TrainingRate training_rate(std::string_view metrics, int warm_up) {
  struct Step {
    double wall_time;
    double samples;
  };
  std::optional<Step> last;
  std::vector<double> seconds;
  std::vector<double> samples;
  int seen = 0;
  for (const std::string& line : base::split(metrics, '\n')) {
    if (line.empty()) continue;
    const nlohmann::json values = base::parse_json(line);
    if (!values.contains("train/loss")) continue;
    const Step step{values.at("wall_time").get<double>(), values.at("samples").get<double>()};
    if (++seen > warm_up && last) {
      seconds.push_back(step.wall_time - last->wall_time);
      samples.push_back(step.samples - last->samples);
    }
    last = step;
  }
  if (seconds.empty()) {
    throw base::ConfigError(fmt::format(
        "the run ended after {} steps, of which {} are warm-up: give more --steps", seen, warm_up));
  }
  const double samples_per_step = median(samples);
  return {samples_per_step / median(seconds), samples_per_step};
}

std::vector<int> parse_counts(std::string_view option, std::string_view text, int most) {
  std::vector<int> counts;
  for (const std::string& part : base::split(text, ',')) {
    counts.push_back(
        launch::parse_int(fmt::format("{} (numbers, as in 1,2,4)", option), part, 1, most));
    if (counts.size() > 1 && counts.back() <= counts[counts.size() - 2]) {
      throw base::ConfigError(
          fmt::format("{} wants numbers that grow, as in 1,2,4, but it is \"{}\"", option, text));
    }
  }
  return counts;
}

std::vector<ScalingShape> scaling_shapes(std::span<const int> node_counts,
                                         std::span<const int> rank_counts) {
  std::vector<ScalingShape> shapes;
  for (const int nodes : node_counts) {
    if (nodes > 1) {
      shapes.push_back({nodes, rank_counts.back()});
      continue;
    }
    for (const int ranks : rank_counts) shapes.push_back({1, ranks});
  }
  return shapes;
}

std::vector<std::string> scaling_table(std::span<const ScalingRow> rows) {
  std::vector<std::string> lines{fmt::format(
      "{:>5}{:>6}{:>14}{:>12}{:>10}{:>12}{:>23}{:>12}", "nodes", "ranks", "samples/step",
      "samples/s", "speed-up", "efficiency", "independent samples/s", "of that")};
  for (const ScalingRow& row : rows) {
    lines.push_back(fmt::format("{:>5}{:>6}{:>14.0f}{:>12.1f}{:>10.2f}{:>12.2f}{:>23.1f}{:>12.2f}",
                                row.shape.nodes, row.shape.ranks(), row.rate.samples_per_step,
                                row.rate.samples_per_s, speed_up(row, rows.front()),
                                efficiency(row, rows.front()), row.ceiling_samples_per_s,
                                of_ceiling(row)));
  }
  return lines;
}

std::string scaling_json(std::span<const ScalingRow> rows, const std::string& threads_per_rank) {
  nlohmann::json list = nlohmann::json::array();
  for (const ScalingRow& row : rows) {
    list.push_back({{"nodes", row.shape.nodes},
                    {"ranks", row.shape.ranks()},
                    {"samples_per_step", row.rate.samples_per_step},
                    {"samples_per_s", row.rate.samples_per_s},
                    {"speed_up", speed_up(row, rows.front())},
                    {"efficiency", efficiency(row, rows.front())},
                    {"ceiling_samples_per_s", row.ceiling_samples_per_s},
                    {"of_ceiling", of_ceiling(row)}});
  }
  return nlohmann::json{{"threads_per_rank", std::stoi(threads_per_rank)}, {"rows", list}}.dump(2);
}

}  // namespace paceline::launcher
