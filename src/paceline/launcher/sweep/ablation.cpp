#include "paceline/launcher/sweep/ablation.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <cmath>

namespace paceline::launcher {
namespace {

AblationPart part_of(const std::string& wanted, std::span<const std::string> algorithms) {
  AblationPart part{.name = wanted, .off = {}};
  if (wanted.find('=') != std::string::npos || wanted.starts_with('~')) {
    part.off = {wanted};
    return part;
  }
  for (const std::string& name : base::split(wanted, '+')) {
    if (std::ranges::find(algorithms, name) == algorithms.end()) {
      const std::string nearest = base::nearest_name(name, algorithms);
      throw base::ConfigError(fmt::format(
          "--ablate={}: the recipe has no algorithm '{}'{}; something else is turned off by an "
          "override, as in --ablate=loss.label_smoothing=0",
          wanted, name,
          !nearest.empty()     ? "; did you mean " + nearest + "?"
          : algorithms.empty() ? std::string()
                               : "; it has " + base::join(algorithms, ", ")));
    }
    part.off.push_back("~algorithms." + name);
  }
  return part;
}

struct Pairs {
  std::vector<double> whole;
  std::vector<double> without;
  std::vector<double> deltas;

  void add(std::optional<double> with_part, std::optional<double> without_part) {
    if (!with_part || !without_part) return;
    whole.push_back(*with_part);
    without.push_back(*without_part);
    deltas.push_back(*with_part - *without_part);
  }
};

}  // namespace

std::vector<AblationPart> ablation_parts(std::span<const std::string> wanted,
                                         std::span<const std::string> algorithms) {
  std::vector<AblationPart> parts;
  for (const std::string& name : wanted) {
    AblationPart part = part_of(name, algorithms);
    if (std::ranges::find(parts, part) != parts.end())
      throw base::ConfigError(fmt::format("--ablate={} stands there twice", name));
    parts.push_back(std::move(part));
  }
  if (!wanted.empty()) return parts;
  for (const std::string& name : algorithms) parts.push_back({name, {"~algorithms." + name}});
  if (parts.empty())
    throw base::ConfigError(
        "--ablate leaves out each algorithm, and the recipe has none: name what to turn off, as in "
        "--ablate=loss.label_smoothing=0");
  return parts;
}

std::vector<Trial> ablation_trials(std::span<const AblationPart> parts, std::int64_t first_seed,
                                   int num_seeds) {
  std::vector<Trial> trials;
  const auto add = [&](const std::string& without, std::vector<std::string> on_top,
                       std::int64_t seed) {
    const std::string text = std::to_string(seed);
    on_top.push_back("run.seed=" + text);
    trials.push_back({.number = static_cast<int>(trials.size()) + 1,
                      .settings = {{kWithout, without}, {"run.seed", text}},
                      .on_top = std::move(on_top)});
  };
  for (int i = 0; i < num_seeds; ++i) {
    add(kWhole, {}, first_seed + i);
    for (const AblationPart& part : parts) add(part.name, part.off, first_seed + i);
  }
  return trials;
}

std::optional<Estimate> estimate(std::span<const double> samples) {
  if (samples.empty()) return std::nullopt;
  const auto count = static_cast<double>(samples.size());
  Estimate result{.mean = 0, .error = std::nullopt, .count = static_cast<int>(samples.size())};
  for (const double sample : samples) result.mean += sample / count;
  if (samples.size() == 1) return result;
  double squares = 0;
  for (const double sample : samples) squares += (sample - result.mean) * (sample - result.mean);
  result.error = std::sqrt(squares / (count - 1) / count);
  return result;
}

std::vector<AblationRow> ablation_rows(std::span<const AblationPart> parts,
                                       std::span<const AblationSample> samples) {
  const std::size_t per_seed = parts.size() + 1;
  std::vector<AblationRow> rows;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Pairs metrics;
    Pairs times;
    for (std::size_t first = 0; first + per_seed <= samples.size(); first += per_seed) {
      const AblationSample& whole = samples[first];
      const AblationSample& without = samples[first + 1 + i];
      metrics.add(whole.metric, without.metric);
      times.add(whole.step_ms, without.step_ms);
    }
    rows.push_back({.part = parts[i].name,
                    .whole = estimate(metrics.whole),
                    .without = estimate(metrics.without),
                    .metric_delta = estimate(metrics.deltas),
                    .step_ms_delta = estimate(times.deltas)});
  }
  return rows;
}

}  // namespace paceline::launcher
