#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/tensor/device.h"
#include "paceline/train/watch/run_speed.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::app {

/// What a run's speed was, for people: how many samples a second, what share of the time went into
/// waiting, and the one change of the recipe that would help most, if one is known.
/// `samples` is what they are called, as "images"; `late_parameters` as
/// parallel::CommunicationReport has them.
std::vector<std::string> describe_speed(const train::SpeedReport& speed, const Recipe& recipe,
                                        std::string_view samples,
                                        std::span<const std::string> late_parameters,
                                        const tensor::Device& device);

}  // namespace paceline::app
