#include "paceline/train/algorithm.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace paceline::train {

nlohmann::json Algorithm::state_dict() const { return nlohmann::json::object(); }

bool others_leave_weights(std::span<const std::unique_ptr<Algorithm>> all, const Algorithm& self) {
  return std::ranges::all_of(all, [&](const std::unique_ptr<Algorithm>& other) {
    const AlgorithmTraits traits = other->traits();
    const bool may_write = traits.events.contains(Event::kAfterOptimizerStep) ||
                           traits.events.contains(Event::kStepEnd);
    return other.get() == &self || !may_write || traits.leaves_weights;
  });
}

// A step counts when it ends, and an epoch by its last step.
bool CallbackTraits::includes(Event event, const Clock& clock) const {
  const bool is_counted =
      (event >= Event::kEpochStart && event <= Event::kEpochEnd) || event == Event::kSafePoint;
  if (!every || !is_counted) return true;
  std::int64_t step = clock.step;
  if (event == Event::kEpochStart) {
    step += clock.lengths.steps_per_epoch;
  } else if (event < Event::kStepEnd) {
    step += 1;
  }
  return step % std::max<std::int64_t>(1, to_steps(*every, clock.lengths)) == 0;
}

nlohmann::json Callback::state_dict() const { return nlohmann::json::object(); }

}  // namespace paceline::train
