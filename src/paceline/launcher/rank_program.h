#pragma once

#include "paceline/launch/environment.h"

#include <string>
#include <vector>

namespace paceline::launcher {

/// The path of paceline-rank, ../libexec/paceline-rank beside this program's folder, in the build
/// tree as in an installed one. Throws InternalError if it is not there.
std::string rank_program_path();

/// Becomes paceline-rank with these arguments.
[[noreturn]] void exec_rank_program(const std::vector<std::string>& arguments,
                                    const launch::Environment& environment);

}  // namespace paceline::launcher
