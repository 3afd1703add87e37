#include "paceline/algorithms/new_part/new_part.h"
#include "paceline/train/train_state.h"

#include <nlohmann/json.hpp>

namespace paceline::algorithms {

train::AlgorithmTraits NewPart::traits() const { return {.events = {train::Event::kStepEnd}}; }

void NewPart::apply(train::Event, train::TrainState& state, const train::RunContext&) {
  if (state.clock.step % config_.every != 0) return;
  ++times_applied_;  // here the run is changed
}

nlohmann::json NewPart::state_dict() const { return {{"times_applied", times_applied_}}; }

void NewPart::load_state_dict(const nlohmann::json& state) {
  times_applied_ = state.at("times_applied").get<std::int64_t>();
}

std::unique_ptr<train::Algorithm> make(const NewPartConfig& config) {
  return std::make_unique<NewPart>(config);
}

}  // namespace paceline::algorithms
