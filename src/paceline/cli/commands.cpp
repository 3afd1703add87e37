#include "paceline/cli/commands.h"

#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/secret.h"

#include <array>

namespace paceline::cli {
namespace {

constexpr std::array kCommands{
    Command{"train", run_train},     Command{"eval", run_eval},
    Command{"export", run_export},   Command{"config", run_config},
    Command{"list", run_list},       Command{"data", run_data},
    Command{"info", run_info},       Command{"predict", run_predict},
    Command{"lr-find", run_lr_find}, Command{"batch-find", run_batch_find},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

std::string program_help(std::string_view program) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  return fmt::format(
      "usage: {0} {1} ...\n\n`{0} COMMAND --help` tells more. On several ranks:\n"
      "  paceline launch --nproc 2 -- {0} train RECIPE\n",
      program, base::join(names, "|"));
}

void refuse_foreign_options(const std::vector<std::string>& arguments,
                            const app::Registries& registries) {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with('-')) continue;
    const std::string value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    config::refuse_secret(arguments[i], value);
    const auto advice = registries.foreign_names.option_advice(arguments[i], value);
    const std::string name = arguments[i].substr(0, arguments[i].find('='));
    problems.push_back(advice ? fmt::format("{} is not an option here: {}", name, *advice)
                              : fmt::format("unknown option {}; --help lists the options", name));
  }
  if (!problems.empty()) throw base::ConfigError(base::join(problems, "\n"));
}

}  // namespace paceline::cli
