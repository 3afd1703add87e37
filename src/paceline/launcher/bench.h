#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// `paceline bench scaling RECIPE [key=value ...] --nproc 1,2,4 [--steps N] [--json]`, and
/// `paceline bench step RECIPE [key=value ...] --toggle KEY=VALUE`.
int run_bench(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace paceline::launcher
