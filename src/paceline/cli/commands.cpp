#include "paceline/cli/commands.h"

#include "paceline/app/builtin.h"
#include "paceline/base/error.h"
#include "paceline/config/foreign_names.h"

#include <array>

namespace paceline::cli {
namespace {

constexpr std::array kCommands{
    Command{"train", run_train},   Command{"eval", run_eval}, Command{"export", run_export},
    Command{"config", run_config}, Command{"list", run_list}, Command{"data", run_data},
    Command{"info", run_info},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

void refuse_foreign_options(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with('-')) continue;
    const std::string value = i + 1 < arguments.size() ? arguments[i + 1] : "";
    config::refuse_secret(arguments[i], value);
    const auto registries = app::make_registries();
    const auto advice =
        config::foreign_option_advice(arguments[i], value, &registries->algorithms, 0);
    const std::string name = arguments[i].substr(0, arguments[i].find('='));
    throw base::ConfigError(advice
                                ? fmt::format("{} is not an option here: {}", name, *advice)
                                : fmt::format("unknown option {}; --help lists the options", name));
  }
}

}  // namespace paceline::cli
