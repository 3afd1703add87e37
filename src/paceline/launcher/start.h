#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// `paceline train ...`, `paceline eval ...`: starts ranks of paceline-rank with the verb and all
/// arguments that are not launch options; `name` is the verb.
int run_ranks_of_verb(const std::string& name, const std::vector<std::string>& arguments);

/// `paceline launch [launch options] -- PROGRAM [ARGS ...]`.
int run_launch(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace paceline::launcher
