#pragma once

#include "paceline/app/session.h"
#include "paceline/train/run_speed.h"

#include <string>
#include <vector>

namespace paceline::app {

/// What a run's speed was, for people: how many images a second, what share of the time went into
/// waiting, and the one change of the recipe that would help most, if one is known.
std::vector<std::string> describe_speed(const train::SpeedReport& speed, const Recipe& recipe,
                                        const parallel::Strategy& strategy,
                                        const tensor::Device& device);

}  // namespace paceline::app
