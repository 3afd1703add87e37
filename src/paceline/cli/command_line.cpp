#include "paceline/cli/command_line.h"

#include "paceline/base/error.h"
#include "paceline/cli/commands.h"

#include <algorithm>

namespace paceline::cli {

namespace {

/// The words that nothing took, each option with what follows it, which may have passed for a
/// positional argument.
std::vector<std::string> with_values(const std::vector<std::string>& words,
                                     const std::vector<std::string>& arguments) {
  std::vector<std::string> all;
  for (const std::string& word : words) {
    all.push_back(word);
    const auto found = std::ranges::find(arguments, word);
    if (word.starts_with('-') && found != arguments.end() && found + 1 != arguments.end())
      all.push_back(found[1]);
  }
  return all;
}

}  // namespace

bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments) {
  try {
    app.allow_extras();
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
      command->allow_extras();
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(reversed);
    const auto rest = app.remaining(/*recurse=*/true);
    refuse_foreign_options(with_values(rest, arguments));
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
