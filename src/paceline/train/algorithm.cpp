#include "paceline/train/algorithm.h"

#include <nlohmann/json.hpp>

namespace paceline::train {

nlohmann::json Algorithm::state_dict() const { return nlohmann::json::object(); }

nlohmann::json Callback::state_dict() const { return nlohmann::json::object(); }

}  // namespace paceline::train
