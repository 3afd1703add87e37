#pragma once

#include "paceline/launch/environment.h"

#include <optional>
#include <string>

namespace paceline::launch {

/// What the machines of a run share and strangers do not know: PACELINE_SECRET, or the contents of
/// the file that PACELINE_SECRET_FILE names, which only its owner may read. Nothing if neither is
/// set. Throws ConfigError for a file that others can read, or a secret that is too short to be
/// one.
std::optional<std::string> read_secret(const Environment& environment);

/// The name that machines derive for a run, made impossible to guess where there is a secret.
std::string guarded_run_id(const std::string& name, const std::optional<std::string>& secret);

}  // namespace paceline::launch
