#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace paceline::cli {

/// Parses the arguments of one command. True: go on. False: help was asked for and printed. Unknown
/// options are refused with advice where another trainer has them. Throws ConfigError.
bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments);

/// --threads of the commands that work on all cores unless told otherwise.
void add_threads(CLI::App& app, int& num_threads,
                 const std::string& help = "Threads; 0: all cores");

}  // namespace paceline::cli
