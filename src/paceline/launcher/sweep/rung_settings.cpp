#include "paceline/launcher/sweep/rung_settings.h"

#include "paceline/base/error.h"

#include <cmath>

namespace paceline::launcher {
namespace {

/// Whether evaluations at multiples of the recipe's interval meet those of the shortest duration.
bool evaluates_at(const CountedDuration& shortest, const RecipeFacts& facts) {
  if (!facts.eval_every) return false;
  try {
    const auto every = CountedDuration::parse("train.eval_every", *facts.eval_every);
    return every.unit == shortest.unit && std::fmod(shortest.count, every.count) == 0;
  } catch (const base::ConfigError&) {  // of another kind
    return false;
  }
}

}  // namespace

std::vector<std::string> rung_settings(const std::vector<Rung>& rungs, std::size_t rung,
                                       const RecipeFacts& facts) {
  if (rungs.front().duration.empty()) return {};
  const std::string& shortest = rungs.front().duration;
  std::vector<std::string> settings{"train.duration=" + rungs.back().duration};
  if (rung + 1 < rungs.size()) {
    settings.push_back("train.min_duration=" + rungs[rung].duration);
    settings.emplace_back("train.stop_when=val/loss > -1e30");  // any loss: at the first chance
  }
  if (!evaluates_at(CountedDuration::parse("--min-duration", shortest), facts))
    settings.push_back("train.eval_every=" + shortest);
  if (!facts.saves) settings.push_back("checkpoint.every=" + rungs.back().duration);
  return settings;
}

}  // namespace paceline::launcher
