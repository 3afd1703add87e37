#include "paceline/launcher/sweep/trials.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/philox.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace paceline::launcher {
namespace {

constexpr std::size_t kMostGridTrials = 10'000;

std::string without_marks(std::string_view key) {
  return std::string(key.substr(std::min(key.find_first_not_of('+'), key.size())));
}

void add(Trial& trial, const Axis& axis, const std::string& value) {
  trial.settings.push_back({without_marks(axis.key), value});
  trial.overrides.push_back(axis.key + "=" + value);
}

/// In [0, 1), of one key of one trial.
double draw(std::uint64_t seed, int number, const std::string& key) {
  const std::uint64_t name = base::xxh3(without_marks(key));
  const base::Philox::Block block = base::Philox::generate(
      {static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(name),
       static_cast<std::uint32_t>(name >> 32), 0},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  const std::uint64_t bits = (static_cast<std::uint64_t>(block[0]) << 32) | block[1];
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

std::string value_at(const Axis& axis, double share) {
  switch (axis.kind) {
    case AxisKind::kList: {
      const auto count = static_cast<double>(axis.values.size());
      return axis.values[static_cast<std::size_t>(share * count)];
    }
    case AxisKind::kUniform:
      return fmt::format("{:.6g}", axis.low + (axis.high - axis.low) * share);
    case AxisKind::kLog:
      return fmt::format("{:.6g}", axis.low * std::pow(axis.high / axis.low, share));
    case AxisKind::kInt:
      break;
  }
  return fmt::format("{:.0f}", axis.low + std::floor((axis.high - axis.low + 1) * share));
}

}  // namespace

std::string describe(const Trial& trial) {
  std::string text;
  for (const Setting& setting : trial.settings)
    text += (text.empty() ? "" : " ") + setting.key + "=" + setting.value;
  return text;
}

std::vector<Trial> grid_trials(const SearchSpace& space) {
  std::vector<Trial> trials(1);
  for (const Axis& axis : space.axes) {
    if (axis.is_drawn())
      throw base::ConfigError(
          fmt::format("{}={} is drawn, which a grid is not: write --strategy random --trials N, or "
                      "values with commas between them",
                      axis.key, axis.text));
    if (trials.size() * axis.values.size() > kMostGridTrials)
      throw base::ConfigError(
          fmt::format("the grid has more than {} trials: leave values out, or write --strategy "
                      "random --trials N",
                      kMostGridTrials));
    std::vector<Trial> more;
    for (const Trial& trial : trials) {
      for (const std::string& value : axis.values) add(more.emplace_back(trial), axis, value);
    }
    trials = std::move(more);
  }
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].number = static_cast<int>(i) + 1;
  return trials;
}

std::vector<Trial> random_trials(const SearchSpace& space, int count, std::uint64_t seed) {
  std::vector<Trial> trials;
  for (int number = 1; number <= count; ++number) {
    Trial& trial = trials.emplace_back(Trial{.number = number});
    for (const Axis& axis : space.axes)
      add(trial, axis, value_at(axis, draw(seed, number, axis.key)));
  }
  return trials;
}

}  // namespace paceline::launcher
