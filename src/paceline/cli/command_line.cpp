#include "paceline/cli/command_line.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/cli/commands.h"

#include <algorithm>
#include <string_view>

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

/// Of a command or its parts; nullptr if there is none.
const CLI::Option* option_in(const CLI::App& app, std::string_view name) {
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (const CLI::Option* const option = option_in(*part, name)) return option;
  }
  return app.get_option_no_throw(std::string(name));
}

std::string value_wanted(const CLI::Option& option) {
  return fmt::format("{} needs a value: {}", option.get_name(), option.get_description());
}

/// CLI11 takes whatever follows.
void refuse_options_as_values(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--") || !arguments[i + 1].starts_with("--")) continue;
    const CLI::Option* const option = option_in(app, arguments[i]);
    if (option != nullptr && option->get_expected_min() > 0 && option->get_type_size_min() > 0)
      throw base::ConfigError(value_wanted(*option));
  }
}

bool lacks_subcommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  return app.get_require_subcommand_min() > 0 && app.get_subcommands().empty() &&
         !arguments.empty() && !arguments.front().starts_with('-');
}

/// That a command has no part of this name, and which it has.
std::string subcommands_text(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::string text =
      fmt::format("paceline {} has no '{}'. There are:", app.get_name(), arguments.front());
  for (const CLI::App* part : app.get_subcommands([](const CLI::App*) { return true; }))
    text += fmt::format("\n  {:<10} {}", part->get_name(), part->get_description());
  return text;
}

}  // namespace

bool parse_arguments(CLI::App& app, const std::vector<std::string>& arguments,
                     const app::Registries& registries) {
  try {
    app.allow_extras();
    for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
      command->allow_extras();
    refuse_options_as_values(app, arguments);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    app.parse(reversed);
    const auto rest = app.remaining(/*recurse=*/true);
    refuse_foreign_options(with_values(rest, arguments), registries);
    if (!rest.empty())
      throw base::ConfigError(
          fmt::format("unexpected argument '{}'; --help tells what fits", rest.front()));
    return true;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help("", CLI::AppFormatMode::All));
    return false;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view message = error.what();
    const CLI::Option* const option = option_in(app, message.substr(0, message.find(':')));
    throw base::ConfigError(option == nullptr ? error.what() : value_wanted(*option));
  } catch (const CLI::RequiredError& error) {
    throw base::ConfigError(lacks_subcommand(app, arguments)
                                ? subcommands_text(app, arguments)
                                : fmt::format("{}; `paceline {} --help` tells what fits",
                                              error.what(), app.get_name()));
  } catch (const CLI::ParseError& error) {
    throw base::ConfigError(
        fmt::format("{}; `paceline {} --help` tells what fits", error.what(), app.get_name()));
  }
}

void refuse_other_format(const std::filesystem::path& output, std::string_view extension,
                         std::string_view what, std::initializer_list<std::string_view> others,
                         std::string_view option) {
  const std::string own = base::to_lower(output.extension().string());
  if (std::ranges::find(others, own) == others.end()) return;
  throw base::ConfigError(
      fmt::format("{} {}: {}: name it {}", option, output.string(), what,
                  std::filesystem::path(output).replace_extension(extension).filename().string()));
}

void add_threads(CLI::App& app, int& num_threads, const std::string& help) {
  constexpr int kMostThreads = 4096;
  app.add_option("--threads", num_threads, help)
      ->check(CLI::Range(0, kMostThreads))
      ->capture_default_str();
}

}  // namespace paceline::cli
