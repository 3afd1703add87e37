#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// The program `paceline`: `arguments` without the program's name. Errors are printed; returns the
/// exit code. Returns not at all where the process becomes another program.
int run(const std::vector<std::string>& arguments);

}  // namespace paceline::launcher
