#include "paceline/cli/command_line.h"

#include "paceline/base/error.h"
#include "paceline/cli/commands.h"

#include <algorithm>

namespace paceline::cli {

bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    app.allow_extras();
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
      command->allow_extras();
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(reversed);
    refuse_foreign_options(app.remaining(/*recurse=*/true));
    const auto rest = app.remaining(true);
    if (!rest.empty())
      throw base::ConfigError(
          fmt::format("unexpected argument '{}'; --help tells what fits", rest.front()));
    return true;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help("", CLI::AppFormatMode::All));
    return false;
  } catch (const CLI::ParseError& error) {
    throw base::ConfigError(
        fmt::format("{}; `paceline {} --help` tells what fits", error.what(), app.get_name()));
  }
}

void add_threads(CLI::App& app, int& num_threads, const std::string& help) {
  constexpr int kMostThreads = 4096;
  app.add_option("--threads", num_threads, help)
      ->check(CLI::Range(0, kMostThreads))
      ->capture_default_str();
}

}  // namespace paceline::cli
