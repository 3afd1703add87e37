#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// `paceline sweep RECIPE key=a,b [options]`.
int run_sweep_command(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace paceline::launcher
