#include "paceline/launcher/sweep/recipe_probe.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/launch/outcome.h"
#include "paceline/launcher/children/last_words.h"

#include <algorithm>
#include <optional>

namespace paceline::launcher {
namespace {

constexpr std::size_t kMostTried = 10;

void add(std::vector<std::string>& arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

}  // namespace

std::vector<std::string> recipe_arguments(const SweepOptions& options, const Trial& trial) {
  std::vector<std::string> arguments{options.recipe};
  add(arguments, options.space.fixed);
  add(arguments, trial.overrides);
  return arguments;
}

std::vector<std::string> on_top_arguments(const Trial& trial,
                                          const std::vector<std::string>& settings) {
  std::vector<std::string> arguments;
  for (const auto* overrides : {&trial.on_top, &settings}) {
    for (const std::string& override : *overrides) add(arguments, {"--on-top", override});
  }
  return arguments;
}

RecipeProbe::Answer RecipeProbe::ask(const std::vector<std::string>& arguments) const {
  const base::TempDir scratch("paceline-sweep");
  ChildStart start{.command = {program_},
                   .environment = environment_,
                   .output = scratch.path() / "output",
                   .errors = scratch.path() / "errors"};
  add(start.command, arguments);
  children_.start(start);
  const ChildNews news = children_.wait();
  if (!news.end) {
    children_.kill_all();
    throw base::Error(static_cast<base::ExitCode>(128 + news.signal),
                      fmt::format("ended by signal {} before the first trial", news.signal));
  }
  Answer answer{.exit_code = launch::exit_code_of_status(news.end->status),
                .printed = base::read_file(start.output),
                .words = last_words(base::read_file(start.errors))};
  if (answer.words.empty()) answer.words = launch::describe_status(news.end->status);
  return answer;
}

RecipeFacts RecipeProbe::facts(const SweepOptions& options, std::span<const Trial> trials) const {
  std::optional<Answer> first;
  for (const Trial& trial : trials.first(std::min(trials.size(), kMostTried))) {
    std::vector<std::string> arguments{"config", "show"};
    add(arguments, recipe_arguments(options, trial));
    Answer answer = ask(arguments);
    if (answer.exit_code == 0) return read_recipe_facts(answer.printed);
    if (!first) first = std::move(answer);
  }
  throw base::Error(static_cast<base::ExitCode>(first->exit_code), first->words);
}

void RecipeProbe::require_one_sound(const SweepOptions& options, std::span<const Trial> trials,
                                    const std::vector<std::string>& on_top) const {
  std::optional<Answer> first;
  const std::size_t count = std::min(trials.size(), kMostTried);
  for (const Trial& trial : trials.first(count)) {
    std::vector<std::string> arguments{"train"};
    add(arguments, recipe_arguments(options, trial));
    add(arguments, options.launch_options);
    add(arguments, on_top_arguments(trial, on_top));
    arguments.emplace_back("--dry-run");
    Answer answer = ask(arguments);
    if (answer.exit_code == 0) return;
    if (!first) first = std::move(answer);
  }
  const std::string which =
      count == trials.size()
          ? fmt::format("all {} trials", count)
          : fmt::format("each of the first {} trials of {}", count, trials.size());
  throw base::Error(
      static_cast<base::ExitCode>(first->exit_code),
      fmt::format("{}\n(so it is with {}, and none was started)", first->words, which));
}

}  // namespace paceline::launcher
