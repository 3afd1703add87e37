#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/cli/data/data_commands.h"

#include <algorithm>
#include <array>

namespace paceline::cli {
namespace {

constexpr std::array kDataCommands{
    DataCommand{"prepare",
                "download, check and pack a public data set, or make volumes of CT scans",
                run_data_prepare},
    DataCommand{"synth",
                "write images of textured shapes, drawn digits, or CT scans with X-rays of made "
                "patients",
                run_data_synth},
    DataCommand{"info", "count, measure and describe a data set", run_data_info},
    DataCommand{"show", "print and draw samples of a data set", run_data_show},
    DataCommand{"verify", "read and decode all of a data set; list every damaged file",
                run_data_verify},
    DataCommand{"bench", "measure how fast training samples come, and what limits that",
                run_data_bench},
    DataCommand{"pack", "write a data set as a packed one", run_data_pack},
    DataCommand{"subset", "write a part of a data set as a packed one", run_data_subset},
};

void print_help() {
  fmt::print("usage: paceline data COMMAND ...\n\n");
  for (const DataCommand& command : kDataCommands)
    fmt::print("  {:<8}{}\n", command.name, command.summary);
  fmt::print("\n`paceline data COMMAND --help` tells more.\n");
}

}  // namespace

int run_data(const std::vector<std::string>& arguments, const app::Registries& registries) {
  if (arguments.empty())
    throw base::ConfigError("data wants a command; `paceline data --help` lists them");
  if (arguments[0] == "--help" || arguments[0] == "-h") {
    print_help();
    return 0;
  }
  std::vector<std::string> names;
  for (const DataCommand& command : kDataCommands) {
    if (command.name == arguments[0])
      return command.run({arguments.begin() + 1, arguments.end()}, registries);
    names.emplace_back(command.name);
  }
  const std::string nearest = base::nearest_name(arguments[0], names);
  throw base::ConfigError(fmt::format("there is no command 'data {}'; {}", arguments[0],
                                      nearest.empty() ? "`paceline data --help` lists them"
                                                      : fmt::format("did you mean {}?", nearest)));
}

}  // namespace paceline::cli
