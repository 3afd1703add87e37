#include "paceline/base/text.h"
#include "paceline/base/version.h"
#include "paceline/checkpoint/environment.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/machine.h"
#include "paceline/tensor/cuda_plugin.h"

#include <fmt/format.h>

namespace paceline::cli {

int run_info(const std::vector<std::string>& arguments) {
  CLI::App app("Show versions and what this machine offers.", "info");
  if (!parse_arguments(app, arguments)) return 0;
  const checkpoint::Environment environment = checkpoint::current_environment(1);
  const launch::Machine machine = launch::this_machine(launch::Environment::of_process());
  const tensor::CudaPlugin cuda = tensor::load_cuda_plugin();
  fmt::print("paceline {}\nLibTorch {} ({})\nhost {}: {} cores, {} GPUs\nCUDA: {}\n",
             base::kVersion, environment.libtorch, environment.instruction_set, machine.host_name,
             machine.cores, machine.gpus, cuda.handle ? "plug-in loaded" : cuda.reason);
  return 0;
}

}  // namespace paceline::cli
