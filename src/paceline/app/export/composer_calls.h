#pragma once

#include "paceline/app/recipe/recipe.h"
#include "paceline/checkpoint/surgery.h"

#include <string>
#include <string_view>
#include <vector>

namespace paceline::app {

/// Whether composer.functional has what this algorithm does to networks.
bool is_composers(std::string_view algorithm);

/// "apply_blurpool(model, replace_convs=True, ...)": what Composer is to do, one call after the
/// other, to have the network that `record` tells of, and the recipe's ghost_batchnorm. What weighs
/// channels comes first there, so that it is around the factors, and these are blurred last.
std::vector<std::string> composer_calls(const Recipe& recipe,
                                        const checkpoint::SurgeryRecord& record);

}  // namespace paceline::app
