#pragma once

#include <string>

namespace paceline::app {

/// What a path in a recipe or on the command line stands for wherever it is read later: absolute,
/// seen from the working directory, with ~ as the user's home. Addresses of other machines stay as
/// they are; so does what follows the path, as in RUN@best. Throws ConfigError for ~ without HOME.
std::string absolute_path(const std::string& text);

}  // namespace paceline::app
