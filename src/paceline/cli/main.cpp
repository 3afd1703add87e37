#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/cli/commands.h"
#include "paceline/comm/cuda_plugin.h"

#include <exception>

namespace {

int run(const std::vector<std::string>& arguments) {
  const std::string verb = arguments.empty() ? "" : arguments.front();
  for (const paceline::cli::Command& command : paceline::cli::commands()) {
    if (command.name == verb) return command.run({arguments.begin() + 1, arguments.end()});
  }
  throw paceline::base::ConfigError("unknown command '" + verb +
                                    "'; paceline --help lists the commands");
}

}  // namespace

int main(int argc, char** argv) {
  using paceline::base::ExitCode;
  try {
    paceline::comm::load_cuda_plugin();
    return run({argv + 1, argv + argc});
  } catch (const paceline::base::Error& error) {
    paceline::base::log_error(error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::exception& error) {
    paceline::base::log_error("unexpected: {}", error.what());
    return static_cast<int>(ExitCode::kInternal);
  }
}
