#pragma once

#include <functional>

namespace paceline::launcher {

/// Does the work and returns its exit code. What it throws is told on standard error, in the words
/// of the exception, and becomes the exit code.
int exit_code_of(const std::function<int()>& work);

}  // namespace paceline::launcher
