#pragma once

#include "paceline/app/recipe/builtin.h"

#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace paceline::cli {

/// Parses the arguments of one command. True: go on. False: help was asked for and printed. Unknown
/// options are refused with advice where another trainer has them. Throws ConfigError.
bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments,
                     const app::Registries& registries);

/// Of --weights.
inline constexpr const char* kWeightsHelp =
    "Of an algorithm that keeps some besides the trained ones, such as ema; trained: the trained "
    "ones. Left out: those that evaluations of the run measure as val/...";

/// --threads of the commands that work on all cores unless told otherwise.
void add_threads(CLI::App& app, int& num_threads,
                 const std::string& help = "Threads; 0: all cores");

/// Throws ConfigError if the name of an output promises another format (`others`: ".jpg", in lower
/// case) than `extension`, which is what is written; `what` says so, and `option` names it.
void refuse_other_format(const std::filesystem::path& output, std::string_view extension,
                         std::string_view what, std::initializer_list<std::string_view> others,
                         std::string_view option = "--output");

}  // namespace paceline::cli
