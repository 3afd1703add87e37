#pragma once

#include "paceline/launcher/sweep/sweep_state.h"

#include <string>
#include <vector>

namespace paceline::launcher {

/// The trials as a table, a line each: the best first, then those that failed or have not been
/// trained.
std::vector<std::string> trial_table(const Sweep& sweep);

/// sweep.csv: the trials by number.
std::string trial_csv(const Sweep& sweep);

/// What each part of an ablation does: mean differences and their standard errors.
std::vector<std::string> ablation_table(const Sweep& sweep);

/// ablation.csv.
std::string ablation_csv(const Sweep& sweep);

}  // namespace paceline::launcher
