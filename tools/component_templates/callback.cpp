#include "paceline/callbacks/new_part.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::callbacks {

std::optional<std::string> NewPart::on_event(train::Event, const train::TrainState&,
                                             const train::RunContext&) {
  if (++num_evaluations_ < config_.after) return std::nullopt;
  return fmt::format("{} evaluations are done", num_evaluations_);
}

nlohmann::json NewPart::state_dict() const { return {{"num_evaluations", num_evaluations_}}; }

void NewPart::load_state_dict(const nlohmann::json& state) {
  num_evaluations_ = state.at("num_evaluations").get<std::int64_t>();
}

std::unique_ptr<train::Callback> make(const NewPartConfig& config) {
  return std::make_unique<NewPart>(config);
}

}  // namespace paceline::callbacks
