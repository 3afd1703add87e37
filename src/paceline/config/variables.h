#pragma once

#include "paceline/config/node.h"
#include "paceline/config/problems.h"

namespace paceline::config {

/// Puts variables of the environment into every scalar of a configuration: ${VAR}, and with a
/// default for a variable that is not set ${VAR,default}, ${VAR:-default} or OmegaConf's
/// ${oc.env:VAR,default}; `:-` also stands in for an empty variable, as in a shell. A scalar that
/// is nothing but a variable is read as if its value stood there without quotes: a number, or null.
/// What cannot be put in goes to `problems`: unset variables, secrets (configurations are saved),
/// and references of other kinds.
void expand_variables(Node& node, Problems& problems);

}  // namespace paceline::config
